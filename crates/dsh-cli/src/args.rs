//! The command line. This one table drives parser, help, man page and completions.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

const GLOBAL: &str = "Global options";

/// Run tools for language models: one guarded pipeline from a tool's name to a safe result.
#[derive(Debug, Parser)]
#[command(
    name = "dsh",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Results go to stdout; logs and messages go to stderr. Exit status: 0 success, 1 the call \
                  failed, 2 usage or configuration error, 130 interrupted."
)]
pub(crate) struct Dsh {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Dsh {
    /// Reads a command line, its first word being the program.
    pub(crate) fn from_words(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = Self::command().color(help_color(words));
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Help and usage errors are coloured before there is a parsed `--color`, so it is looked for.
fn help_color(words: &[OsString]) -> ColorChoice {
    let mut words = words
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy())
        .take_while(|word| word != "--");
    let mut when = None;
    while let Some(word) = words.next() {
        if word == "--color" {
            when = words.next();
        } else if let Some(value) = word.strip_prefix("--color=") {
            when = Some(value.to_owned().into());
        }
    }
    match when.as_deref() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Work in this directory; it is the workspace root.
    #[arg(
        short = 'C',
        value_name = "DIR",
        global = true,
        default_value = ".",
        hide_default_value = true,
        value_hint = ValueHint::DirPath,
        help_heading = GLOBAL
    )]
    pub(crate) directory: PathBuf,
    /// Use colour; `auto` is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", help_heading = GLOBAL)]
    pub(crate) color: When,
    /// Write the log on stderr as lines for people or as one JSON object a line.
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text", help_heading = GLOBAL)]
    pub(crate) log_format: LogFormat,
    /// Log more; repeat for still more. RUST_LOG wins.
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = GLOBAL)]
    pub(crate) verbose: u8,
}

// The variants have no documentation of their own: their options' does, and help stays on one screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call one tool through the whole pipeline.
    Call(CallArgs),
    /// Run a Code Mode program against the tools.
    Code(CodeArgs),
    /// Show what a model would see of the tools.
    Tools(ToolsArgs),
    /// Look at schemas: JSON lines in, JSON lines out.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Print a completion script for a shell.
    #[command(after_help = "Examples:
  dsh completions bash > ~/.local/share/bash-completion/completions/dsh
  dsh completions fish > ~/.config/fish/completions/dsh.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page.
    #[command(after_help = "Example:
  dsh man | man -l -")]
    Man,
    /// Say what this installation can do here.
    Doctor {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "The program is the body of an async TypeScript function: `await tools.NAME({...})` calls a tool,
`return` hands back a value, `console.log` prints. `dsh tools --ts` declares the tools.

Examples:
  dsh code examples/census.ts
  dsh code -e 'return await tools.read({file_path: \"README.md\", limit: 5})'
  dsh code -e 'while (true) {}' --compute-ms 500 --json"
)]
pub(crate) struct CodeArgs {
    /// The program's file, or `-` for stdin, which is also read without it.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The program itself.
    #[arg(
        short = 'e',
        long,
        value_name = "SRC",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub(crate) expression: Option<String>,
    /// Print one JSON document: value, logs, calls, and what happened besides.
    #[arg(long)]
    pub(crate) json: bool,
    /// Let the program be busy for so many milliseconds [default: 60000].
    #[arg(long, value_name = "MS")]
    pub(crate) compute_ms: Option<u64>,
    /// Let it take so many milliseconds in all [default: 600000].
    #[arg(long, value_name = "MS")]
    pub(crate) wall_ms: Option<u64>,
    /// Let it hold so many MiB of memory [default: 512].
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_mb: Option<u64>,
    /// Let its logs and its value be so many bytes of JSON [default: 67108864].
    #[arg(long, value_name = "BYTES")]
    pub(crate) output_bytes: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dsh call read file_path=README.md limit=5
  dsh call read '{\"file_path\": \"README.md\"}' --json
  echo '{\"file_path\": \"README.md\"}' | dsh call read -")]
pub(crate) struct CallArgs {
    /// The tool's name; `dsh tools` lists them.
    pub(crate) name: String,
    /// JSON text, `-` for JSON on stdin, or key=value pairs read by the types of the tool's schema.
    #[arg(value_name = "ARGS", allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,
    /// Print the outcome as one JSON document.
    #[arg(long, conflicts_with = "card")]
    pub(crate) json: bool,
    /// Print the finished call's card as a terminal shows it.
    #[arg(long)]
    pub(crate) card: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ToolsArgs {
    /// Print the schemas, as one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the TypeScript declarations of the Code Mode SDK.
    #[arg(long)]
    pub(crate) ts: bool,
    /// Print the Python declarations of the Code Mode SDK.
    #[arg(long)]
    pub(crate) py: bool,
    /// Print the catalogue document of every shipped tool.
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal.
    #[command(after_help = "In:   {\"id\": …, \"schema\": …}
Out:  {\"id\": …, \"contract\": \"subset\" or \"foreign\" or \"refused\", \"violations\": [..]}
A malformed line gives {\"line\": N, \"error\": …}, and the exit status is 1.")]
    Check,
    /// Say whether each value satisfies its schema.
    #[command(
        after_help = "In:   {\"id\": …, \"schema\": …, \"value\": …, \"path\"?: \"value\"}
Out:  {\"id\": …, \"valid\": true or false, \"violations\": [..]}
A refused schema gives {\"id\": …, \"error\": …}, a malformed line {\"line\": N, \"error\": …}; with either the
exit status is 1. `path` is the label of the value in violations."
    )]
    Validate,
    /// Print each schema's TypeScript.
    #[command(after_help = "In:   {\"id\": …, \"schema\": …}
Out:  {\"id\": …, \"ts\": …, \"declarations\"?: {name: body}}
`declarations` are the named types that recursion needs. A malformed line gives {\"line\": N, \"error\": …}, and
the exit status is 1.")]
    Ts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        Dsh::command().debug_assert();
    }

    #[test]
    fn the_colour_of_help_is_found_before_parsing() {
        let color =
            |words: &[&str]| help_color(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            color(&["dsh", "--color", "never", "tools"]),
            ColorChoice::Never
        );
        assert_eq!(
            color(&["dsh", "tools", "--color=always"]),
            ColorChoice::Always
        );
        assert_eq!(
            color(&["dsh", "tools", "--", "--color=always"]),
            ColorChoice::Auto
        );
        assert_eq!(color(&["dsh", "--color"]), ColorChoice::Auto);
        assert_eq!(color(&[]), ColorChoice::Auto);
    }
}
