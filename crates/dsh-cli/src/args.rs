//! The command line. This one table drives parser, help, man page and completions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Run tools for language models: one guarded pipeline from a tool's name to a safe result.
#[derive(Debug, Parser)]
#[command(name = "dsh", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Dsh {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Work in this directory; it is the workspace root.
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".", hide_default_value = true)]
    pub(crate) directory: PathBuf,
    /// Colour the output.
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: When,
    /// The form of the log on stderr.
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Log more; repeat for still more. RUST_LOG wins.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call one tool through the whole pipeline.
    Call(CallArgs),
    /// Show what a model would see of the tools.
    Tools(ToolsArgs),
    /// Look at schemas: JSON lines in, JSON lines out.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page.
    Man,
    /// Say what this installation can do here.
    Doctor {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dsh call read file_path=README.md limit=5
  dsh call read '{\"file_path\": \"README.md\"}' --json
  echo '{\"file_path\": \"README.md\"}' | dsh call read -")]
pub(crate) struct CallArgs {
    /// The tool's name.
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
    /// The schemas, as one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
    /// The TypeScript declarations of the Code Mode SDK.
    #[arg(long)]
    pub(crate) ts: bool,
    /// The Python declarations of the Code Mode SDK.
    #[arg(long)]
    pub(crate) py: bool,
    /// The catalogue document.
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Say what becomes of each schema: the enforced subset, a foreign contract, or a refusal.
    Check,
    /// Say whether each value satisfies its schema.
    Validate,
    /// Print each schema's TypeScript.
    Ts,
}
