//! Cards: how a call looks to a person (chapter 11 of the registry specification).
//!
//! A card is a function of logged data alone, so a log can be redrawn years later. The unions are closed on purpose: a
//! consumer that meets a card it does not know has a bug to report, not a card to skip (T412).

use dsh_schema::Document;
use serde::{Deserialize, Serialize};

use crate::Block;

/// What a call on its way looks like (T413).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "card",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum CallView {
    /// The card of a tool without a look of its own.
    Generic {
        /// One line.
        title: String,
        /// What the call does; absent means [`CallKind::Other`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<CallKind>,
        /// The salient input, not necessarily all of it (T422).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_input: Option<Document>,
        /// Blocks to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Vec<Block>>,
        /// Files it touches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        locations: Option<Vec<Location>>,
    },
    /// A command that runs.
    Terminal {
        /// The command.
        title: String,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Where it runs; relative to the workspace, absent means the workspace itself (T419).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Files that would change.
    Diff {
        /// One line.
        title: String,
        /// The changes.
        diffs: Vec<FileDiff>,
        /// Files it touches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        locations: Option<Vec<Location>>,
    },
}

/// What a finished call looks like (T414, T415). It replaces the pending card (T409).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "card",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum ResultView {
    /// The card of a tool without a look of its own.
    Generic {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Blocks to show; absent shows the raw content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Vec<Block>>,
    },
    /// A command that ran.
    Terminal {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What it printed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// How it ended; excludes `signal` (T419).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it; excludes `exit_code`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
    /// Files that changed.
    Diff {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The changes.
        diffs: Vec<FileDiff>,
    },
    /// What a search found.
    Search(SearchView),
    /// Lines of a file.
    Read {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The file.
        path: String,
        /// The first line asked for, from 1; present even without lines (T421).
        offset: u64,
        /// The lines with their numbers in the file.
        lines: Vec<NumberedLine>,
        /// How many lines the file has.
        total_lines: u64,
        /// The language for highlighting, if the extension is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lang: Option<String>,
        /// The text for a consumer without this card.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// Something from the web.
    Web(WebView),
}

/// The two shapes of a search card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "shape",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum SearchView {
    /// Matching lines by file.
    Matches {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The files, each with its matches.
        files: Vec<FileMatches>,
        /// Whether results were left out.
        truncated: bool,
        /// How many there were before anything was left out (T420).
        total: u64,
    },
    /// Paths.
    Paths {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The paths.
        paths: Vec<String>,
        /// Whether results were left out.
        truncated: bool,
        /// How many there were before anything was left out.
        total: u64,
    },
}

/// The two kinds of a web card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum WebView {
    /// Results of a search.
    Search {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What was found.
        sources: Vec<WebSource>,
        /// An answer, if the engine gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// Whether results were left out.
        truncated: bool,
    },
    /// One page.
    Fetch {
        /// One line; absent keeps the pending title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The page.
        url: String,
        /// The status of the response.
        status_code: u16,
        /// Whether text was left out.
        truncated: bool,
    },
}

/// What a generic call does (T416).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each name says it")]
pub enum CallKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Fetch,
    Other,
}

/// A place in a file (T417).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// One changed file. A `null` old text, for a new file, differs from an empty one (T418).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The file.
    pub path: String,
    /// What it held before; `None` for a new file or when that is not known.
    pub old_text: Option<String>,
    /// What it holds now.
    pub new_text: String,
}

/// The matches in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// The file.
    pub path: String,
    /// Its matching lines.
    pub matches: Vec<MatchedLine>,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchedLine {
    /// The line's number, from 1.
    pub line_number: u64,
    /// The line.
    pub line: String,
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedLine {
    /// The line's number in the file, from 1.
    pub number: u64,
    /// The line.
    pub text: String,
}

/// One result of a web search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebSource {
    /// The page.
    pub url: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Some of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// When it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
}
