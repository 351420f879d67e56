//! Calls and outcomes as plain data, in a versioned envelope, for logs and other processes.

use compact_str::CompactString;
use dsh_schema::Document;
use serde::{Deserialize, Serialize};

use crate::{CallId, Execution};

/// The version that [`Envelope::new`] writes.
pub const RECORD_VERSION: u32 = 1;

/// Data with the version of its form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// The version of `data`'s form.
    pub version: u32,
    /// The data.
    pub data: T,
}

impl<T> Envelope<T> {
    /// Wraps data of the current form.
    pub fn new(data: T) -> Self {
        Self {
            version: RECORD_VERSION,
            data,
        }
    }

    /// The data, if its form is one that this version reads.
    pub fn open(self) -> Option<T> {
        (self.version == RECORD_VERSION).then_some(self.data)
    }
}

/// A call without its handles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The caller's id.
    pub id: CallId,
    /// The model-requested call at the root.
    pub root: CallId,
    /// The tool.
    pub name: CompactString,
    /// The arguments; absent if they could not be materialised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Document>,
    /// The label of the scope the call is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a tool or a program made the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// How often the call was started, 1 for the first time.
    pub attempt: u32,
}

impl CallRecord {
    /// The record of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        Self {
            id: execution.id().clone(),
            root: execution.root_id().clone(),
            name: execution.name().into(),
            arguments: execution.arguments().cloned(),
            agent: execution.agent().map(|scope| scope.label().to_owned()),
            nested: execution.parent().is_some(),
            attempt: execution.attempt(),
        }
    }
}
