//! The question as plain data.

use std::fmt::Write as _;

use compact_str::CompactString;
use dsh_schema::Document;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{CallId, Execution, Tool};

/// Names exactly one call of exactly one definition, so that an answer can be given elsewhere and later.
///
/// The id is derived from the call, not drawn, so a resumed worker asks with the ticket it asked with before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalTicket {
    /// The ticket's id.
    pub id: String,
    /// The call.
    pub call_id: CallId,
    /// The model-requested call at its root.
    pub root_call_id: CallId,
    /// The tool.
    pub tool: CompactString,
    /// SHA-256, in hex, of the tool's name, its schema, what it declares, and the arguments.
    pub digest: String,
    /// When a grant lapses, in milliseconds on the host's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
}

impl ApprovalTicket {
    pub(crate) fn of(
        execution: &Execution,
        tool: Option<&Tool>,
        expires_at_ms: Option<u64>,
    ) -> Self {
        Self {
            id: format!("approval:{}:{}", execution.root_id(), execution.id()),
            call_id: execution.id().clone(),
            root_call_id: execution.root_id().clone(),
            tool: execution.name().into(),
            digest: digest(execution.name(), execution.arguments(), tool),
            expires_at_ms,
        }
    }
}

/// The digest of one call. Each part is preceded by its length, so that parts cannot run into each other.
pub(crate) fn digest(name: &str, arguments: Option<&Document>, tool: Option<&Tool>) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    part(name);
    part(&arguments.map(Document::to_json).unwrap_or_default());
    if let Some(tool) = tool {
        part(tool.schema().to_json());
        part(&format!(
            "{:?}/{}/{}",
            tool.effect(),
            tool.is_destructive(),
            tool.is_open_world()
        ));
    }
    let mut out = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}
