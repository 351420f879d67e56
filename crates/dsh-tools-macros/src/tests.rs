//! What the attribute refuses, and in which words.

use proc_macro2::TokenStream;

use crate::expansion::expand;

/// The texts of the compile errors in an expansion.
fn messages(options: &str, item: &str) -> Vec<String> {
    let parse = |text: &str| text.parse::<TokenStream>().expect("tokens");
    let file: syn::File = syn::parse2(expand(parse(options), parse(item)))
        .expect("an expansion is a sequence of items");
    file.items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Macro(call) if call.mac.path.segments.last()?.ident == "compile_error" => {
                Some(
                    call.mac
                        .parse_body::<syn::LitStr>()
                        .expect("a message")
                        .value(),
                )
            }
            _ => None,
        })
        .collect()
}

#[track_caller]
fn refuses(options: &str, item: &str, part: &str) {
    let found = messages(options, item);
    assert!(
        found.len() == 1 && found[0].contains(part),
        "expected `{part}`, found {found:?}"
    );
}

#[track_caller]
fn accepts(options: &str, item: &str) {
    assert_eq!(messages(options, item), Vec::<String>::new());
}

const READ: &str =
    "/// Read.\nasync fn read(path: String) -> Result<String, ToolError> { todo!() }";

#[test]
fn ordinary_tools_expand() {
    accepts("", READ);
    accepts(
        "read_only, timeout = \"30s\", access = |a| [Access::read(&a.path)],",
        READ,
    );
    accepts(
        "",
        "/// Now.\nasync fn now(cx: RunContext) -> String { todo!() }",
    );
    accepts("", "/// Wait.\nasync fn wait(_: dsh_tools::RunContext) {}");
    accepts("description = \"Wait.\"", "async fn wait() {}");
    accepts(
        "",
        "/// Put.\npub(crate) async fn put(#[state] store: Arc<Store>, mut path: String) -> io::Result<()> { todo!() }",
    );
    accepts(
        "concurrency_safe = safe, render = text::draw, args = pub(crate) ReadArguments, crate = crate::dsh",
        READ,
    );
    accepts(
        "",
        "/// Put.\nasync fn put(#[state] label: &'static str) {}",
    );
    accepts(
        "timeout = LIMIT, once, destructive = false, open_world, owns_deadline, concurrency_safe",
        READ,
    );
}

#[test]
fn functions_that_are_no_tools() {
    let cases = [
        ("/// A.\nfn read() {}", "write `async fn read`"),
        ("/// A.\nconst async fn read() {}", "remove `const`"),
        ("/// A.\nasync extern \"C\" fn read() {}", "remove `extern`"),
        ("/// A.\nasync fn read<T>(path: T) {}", "cannot be generic"),
        (
            "/// A.\nasync fn read<'a>(path: Cow<'a, str>) {}",
            "cannot be generic",
        ),
        (
            "/// A.\nasync fn read() where (): Sized {}",
            "remove the `where` clause",
        ),
        (
            "/// A.\nasync fn read(&self) {}",
            "`#[state]` parameter in place of `self`",
        ),
        (
            "/// A.\nasync fn read(self: Arc<Self>) {}",
            "`#[state]` parameter in place of `self`",
        ),
        (
            "/// A.\nasync fn read((a, b): (u8, u8)) {}",
            "take the pattern apart",
        ),
        ("/// A.\nasync fn read(_: u8) {}", "take the pattern apart"),
        (
            "/// A.\nasync fn read(ref a: u8) {}",
            "take the pattern apart",
        ),
        ("/// A.\nasync fn read(_a: u8) {}", "call it `a`"),
        (
            "/// A.\nasync fn read(path: &str) {}",
            "write `path: String`",
        ),
        (
            "/// A.\nasync fn read(path: &'static str) {}",
            "write `path: String`",
        ),
        (
            "/// A.\nasync fn read(paths: &[String]) {}",
            "make `paths` a `Vec`",
        ),
        (
            "/// A.\nasync fn read(#[state] store: &Store) {}",
            "behind an `Arc`",
        ),
        (
            "/// A.\nasync fn read(cx: &RunContext) {}",
            "take `RunContext` by value",
        ),
        (
            "/// A.\nasync fn read(a: RunContext, b: RunContext) {}",
            "has one `RunContext`",
        ),
        (
            "/// A.\nasync fn read(#[state] cx: RunContext) {}",
            "remove `#[state]`",
        ),
        (
            "/// A.\nasync fn read(#[state(x)] a: Arc<Store>) {}",
            "`#[state]` stands alone",
        ),
        (
            "/// A.\nasync fn read(#[state] read: Arc<Store>) {}",
            "has the name of the tool",
        ),
        (
            "/// A.\nasync fn read(#[serde(default)] cx: RunContext) {}",
            "only an argument has a schema",
        ),
        (
            "/// A.\nasync fn read(#[cfg(unix)] a: u8) {}",
            "remove this attribute",
        ),
        (
            "/// A.\nasync fn read(path: impl Into<String>) {}",
            "name one in place of `impl …`",
        ),
        (
            "/// A.\nasync fn read() -> impl Serialize {}",
            "name one in place of `impl …`",
        ),
        (
            "/// A.\nasync fn read() -> Result<impl Serialize, ToolError> {}",
            "name one in place of `impl …`",
        ),
        ("async fn read() {}", "put a doc comment above `read`"),
        (
            "/// # Notes\n/// For Rust readers.\nasync fn read() {}",
            "put a doc comment above `read`",
        ),
        (
            "#[doc = include_str!(\"read.md\")]\nasync fn read() {}",
            "write `description = …`",
        ),
        ("struct Read;", "goes on an `async fn`"),
        ("async fn read();", "goes on an `async fn` with a body"),
    ];
    for (item, part) in cases {
        refuses("", item, part);
    }
}

#[test]
fn options_that_make_no_sense() {
    let cases = [
        ("readonly", "no option `readonly`: use `name`, "),
        ("read_only read", "put one here"),
        ("\"read\"", "starts with its name"),
        ("read_only = true", "`read_only` stands alone"),
        ("open_world(true)", "`open_world` stands alone"),
        ("read_only, read_only", "`read_only` is given twice"),
        ("read_only, idempotent", "keep `read_only` or `idempotent`"),
        (
            "read_only, destructive",
            "remove `destructive` or `read_only`",
        ),
        (
            "destructive = 1",
            "write for instance `destructive = false`",
        ),
        ("name", "write `name = \"read\"`"),
        ("name = read", "write for instance `name = \"read\"`"),
        ("name = \"\"", "without blanks"),
        ("name = \"a b\"", "without blanks"),
        ("timeout = 30", "a timeout has a unit"),
        ("timeout = \"30\"", "has no unit"),
        ("timeout = \"0s\"", "a timeout of zero"),
        ("access", "write `access = |args| …`"),
        (
            "access = \"path\"",
            "is a closure or the path of a function",
        ),
        ("render = draw, render_value = draw", "keep one of them"),
        (
            "presentation_meta_value = draw, presentation_meta = draw",
            "keep one of them",
        ),
    ];
    for (options, part) in cases {
        refuses(options, READ, part);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let found = messages("timeout = \"0s\"", "/// A.\nfn read(&self, a: &str) {}");
    assert_eq!(found.len(), 4, "{found:?}");
}

/// What uses a tool that does not compile is not reported as well.
#[test]
fn a_maker_stands_in_for_a_tool_with_mistakes() {
    let text = expand(
        TokenStream::new(),
        "pub fn read(#[state] a: Arc<u8>, b: &str) {}"
            .parse()
            .expect("tokens"),
    )
    .to_string();
    assert!(text.contains("pub fn read (_ : Arc < u8 >) -> "), "{text}");
}
