//! One entry of a log.

use std::sync::Arc;

use compact_str::CompactString;
use dsh_schema::Document;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Payload, SessionError};

/// An event of a log, immutable and cheap to clone (L119, L121).
///
/// The serialised form is `{type, seq, time, data, surfaceOp?, sourceEventSeqs?, ignorable?}`. The data is written as it came,
/// members that nobody here knows included (D29).
#[derive(Clone, Debug, PartialEq)]
pub struct Event(Arc<Entry>);

#[derive(Debug, PartialEq)]
struct Entry {
    seq: u64,
    time: u64,
    payload: Payload,
    data: Document,
    surface: Option<SurfaceOp>,
    sources: Option<Vec<u64>>,
    ignorable: bool,
}

/// Where an event stands among what the model sees (L142).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// Behind everything.
    Append,
    /// In place of the nodes from `start` to `end`.
    Replace {
        /// The first node's event.
        start: u64,
        /// The last node's event.
        end: u64,
    },
}

/// An event that is not in a log yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub(crate) payload: Payload,
    pub(crate) surface: Option<SurfaceOp>,
    pub(crate) sources: Option<Vec<u64>>,
    pub(crate) ignorable: bool,
}

impl Draft {
    /// An event that is only logged, or, for the three types that a model sees, put behind everything it has seen.
    pub fn new(payload: impl Into<Payload>) -> Self {
        let payload = payload.into();
        let surface = payload.is_surface().then_some(SurfaceOp::Append);
        Self {
            payload,
            surface,
            sources: None,
            ignorable: false,
        }
    }

    /// Puts the event in place of others (L142).
    #[must_use]
    pub fn replacing(mut self, start: u64, end: u64) -> Self {
        self.surface = Some(SurfaceOp::Replace { start, end });
        self
    }

    /// Names the events that this one was made from (L143).
    #[must_use]
    pub fn from_events(mut self, sources: impl IntoIterator<Item = u64>) -> Self {
        self.sources = Some(sources.into_iter().collect());
        self
    }

    /// Says that losing the event changes nothing that is reconstructed from the log (L183).
    #[must_use]
    pub fn ignorable(mut self) -> Self {
        self.ignorable = true;
        self
    }
}

impl<P: Into<Payload>> From<P> for Draft {
    fn from(payload: P) -> Self {
        Self::new(payload)
    }
}

impl Payload {
    /// Whether a model can see events of this type (L141).
    #[must_use]
    pub fn is_surface(&self) -> bool {
        matches!(
            self,
            Self::UserMessage(_) | Self::AssistantMessage(_) | Self::ToolResult(_)
        )
    }
}

impl Event {
    pub(crate) fn new(seq: u64, time: u64, draft: Draft) -> Result<Self, SessionError> {
        let Draft {
            payload,
            surface,
            sources,
            ignorable,
        } = draft;
        let data = payload.encode()?;
        Ok(Self(Arc::new(Entry {
            seq,
            time,
            payload,
            data,
            surface,
            sources,
            ignorable,
        })))
    }

    /// Its place in the log, from 0.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.0.seq
    }

    /// When it was appended, in milliseconds since the epoch. It may go backwards.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.0.time
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.payload.kind()
    }

    /// What it says.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        &self.0.payload
    }

    /// What it says, as it is written.
    #[must_use]
    pub fn data(&self) -> &Document {
        &self.0.data
    }

    /// Where it stands among what the model sees.
    #[must_use]
    pub fn surface(&self) -> Option<SurfaceOp> {
        self.0.surface
    }

    /// The events it was made from; an empty list is not an absent one (L139).
    #[must_use]
    pub fn sources(&self) -> Option<&[u64]> {
        self.0.sources.as_deref()
    }

    /// Whether a reader that does not know the type may go on without it.
    #[must_use]
    pub fn is_ignorable(&self) -> bool {
        self.0.ignorable
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Op {
    Replace { start: u64, end: u64 },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SurfaceForm {
    Word(Word),
    Op(Op),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Append,
}

impl Serialize for SurfaceOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Append => SurfaceForm::Word(Word::Append),
            Self::Replace { start, end } => SurfaceForm::Op(Op::Replace { start, end }),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SurfaceOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match SurfaceForm::deserialize(deserializer)? {
            SurfaceForm::Word(Word::Append) => Self::Append,
            SurfaceForm::Op(Op::Replace { start, end }) => Self::Replace { start, end },
        })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry {
            seq,
            time,
            payload,
            data,
            surface,
            sources,
            ignorable,
        } = &*self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", payload.kind())?;
        map.serialize_entry("seq", seq)?;
        map.serialize_entry("time", time)?;
        map.serialize_entry("data", data)?;
        if let Some(surface) = surface {
            map.serialize_entry("surfaceOp", surface)?;
        }
        if let Some(sources) = sources {
            map.serialize_entry("sourceEventSeqs", sources)?;
        }
        if *ignorable {
            map.serialize_entry("ignorable", ignorable)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Record {
            r#type: CompactString,
            seq: u64,
            time: u64,
            data: Document,
            surface_op: Option<SurfaceOp>,
            source_event_seqs: Option<Vec<u64>>,
            #[serde(default)]
            ignorable: bool,
        }
        let record = Record::deserialize(deserializer)?;
        let payload = Payload::decode(&record.r#type, &record.data).map_err(D::Error::custom)?;
        Ok(Self(Arc::new(Entry {
            seq: record.seq,
            time: record.time,
            payload,
            data: record.data,
            surface: record.surface_op,
            sources: record.source_event_seqs,
            ignorable: record.ignorable,
        })))
    }
}
