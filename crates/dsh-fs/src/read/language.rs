//! The language of a file by its name (F71).

/// Extensions in lower case with the name of their language, as highlighters know it.
const TABLE: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cjs", "javascript"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("cts", "typescript"),
    ("cxx", "cpp"),
    ("dart", "dart"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("go", "go"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("ini", "ini"),
    ("java", "java"),
    ("js", "javascript"),
    ("json", "json"),
    ("jsonc", "jsonc"),
    ("jsonl", "jsonl"),
    ("jsx", "jsx"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("less", "less"),
    ("lua", "lua"),
    ("markdown", "markdown"),
    ("md", "markdown"),
    ("mjs", "javascript"),
    ("mts", "typescript"),
    ("php", "php"),
    ("pl", "perl"),
    ("proto", "proto"),
    ("ps1", "powershell"),
    ("py", "python"),
    ("pyi", "python"),
    ("r", "r"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("sh", "bash"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("swift", "swift"),
    ("tf", "hcl"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsx", "tsx"),
    ("vue", "vue"),
    ("xml", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "zsh"),
];

/// The language of the file at `path`, if its extension is known.
///
/// The last extension of the last segment counts, whatever its case; segments end at either slash.
/// A file whose name only begins with a dot has no extension.
///
/// # Examples
///
/// ```
/// use dsh_fs::read::language;
/// assert_eq!(language("src/Main.RS"), Some("rust"));
/// assert_eq!(language(".toml"), None);
/// ```
#[must_use]
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    TABLE
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension))
        .map(|(_, language)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f71_extensions() {
        for (path, wanted) in [
            ("/w/a.rs", Some("rust")),
            ("A.TSX", Some("tsx")),
            ("dir.rs/file", None),
            ("dir\\file.py", Some("python")),
            ("a.tar.json", Some("json")),
            ("a.json.gz", None),
            (".rs", None),
            ("dir/.rs", None),
            (".config.rs", Some("rust")),
            ("a.", None),
            ("rs", None),
            ("", None),
        ] {
            assert_eq!(language(path), wanted, "{path}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_lower_case() {
        assert!(TABLE.is_sorted_by(|one, other| one.0 < other.0));
        assert!(
            TABLE
                .iter()
                .all(|(known, _)| *known == known.to_lowercase())
        );
    }
}
