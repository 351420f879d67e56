//! Messages of a conversation (chapter 3.1 of the loop specification).

use compact_str::CompactString;
use dsh_schema::{Document, ValueRef};
use dsh_tools::{Block, CallId, Content, ContextMessage};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A message, immutable from its making (L87).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Minted once; a later representation of the same message keeps it.
    pub id: CompactString,
    /// Who speaks.
    pub role: Role,
    /// What it says.
    pub content: Content,
    /// Where it comes from.
    pub source: Source,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Whoever runs the conversation.
    System,
    /// Whoever asks: a person, a plugin, a tool.
    User,
    /// The model.
    Assistant,
}

impl Message {
    /// A user's text.
    pub fn user(id: impl Into<CompactString>, content: impl Into<Content>) -> Self {
        Self {
            id: id.into(),
            role: Role::User,
            content: content.into(),
            source: Source::user(),
        }
    }

    /// What a model said.
    pub fn assistant(
        id: impl Into<CompactString>,
        content: impl Into<Content>,
        provider: &str,
        model: &str,
    ) -> Self {
        Self {
            id: id.into(),
            role: Role::Assistant,
            content: content.into(),
            source: Source::model(provider, model),
        }
    }

    /// The result of a call (L90).
    pub fn tool_result(
        id: impl Into<CompactString>,
        call: &CallId,
        content: Content,
        is_error: bool,
    ) -> Self {
        let block = Block::ToolResult(Box::new(dsh_tools::ToolResultBlock {
            tool_call_id: call.as_str().into(),
            content,
            is_error: is_error.then_some(true),
        }));
        Self {
            id: id.into(),
            role: Role::User,
            content: Content::from(block),
            source: Source::tool(call),
        }
    }

    /// The call that a tool-result message answers; `None` for any other message, and for one of the wrong shape.
    #[must_use]
    pub fn answers(&self) -> Option<&str> {
        match (self.role, self.content.blocks(), self.source.call_id()) {
            (Role::User, [Block::ToolResult(result)], Some(call))
                if result.tool_call_id == call =>
            {
                Some(call)
            }
            _ => None,
        }
    }
}

impl From<ContextMessage> for Message {
    /// A context that came with a result is a user-role message that a plugin speaks (L131).
    fn from(context: ContextMessage) -> Self {
        let source = Document::from_serialize(&context.source)
            .map(Source)
            .unwrap_or_else(|_| Source::user());
        Self {
            id: context.id,
            role: Role::User,
            content: context.content,
            source,
        }
    }
}

/// Where a message comes from: an object with a `kind` (L88).
///
/// The set is open. A source of a kind that nobody here knows, and members beside the known ones, stay as they came.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Source(Document);

impl Source {
    /// A person.
    #[must_use]
    pub fn user() -> Self {
        Self::made(&[("kind", "user")])
    }

    /// A plugin.
    #[must_use]
    pub fn plugin(plugin: &str) -> Self {
        Self::made(&[("kind", "plugin"), ("plugin", plugin)])
    }

    /// A model.
    #[must_use]
    pub fn model(provider: &str, model: &str) -> Self {
        Self::made(&[("kind", "model"), ("provider", provider), ("model", model)])
    }

    /// The tool that ran a call.
    #[must_use]
    pub fn tool(call: &CallId) -> Self {
        Self::made(&[("kind", "tool"), ("callId", call.as_str())])
    }

    fn made(members: &[(&str, &str)]) -> Self {
        let mut text = String::from("{");
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            Document::string(*key).root().write_json(&mut text);
            text.push(':');
            Document::string(*value).root().write_json(&mut text);
        }
        text.push('}');
        Self(Document::parse(text).unwrap_or_default())
    }

    /// What kind of source it is: `user`, `plugin`, `model`, `tool`, or one that is not known here.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("kind").unwrap_or_default()
    }

    /// The call of a tool's message.
    #[must_use]
    pub fn call_id(&self) -> Option<&str> {
        if self.kind() == "tool" {
            self.text("callId")
        } else {
            None
        }
    }

    /// Everything the source says.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.root().get(name).and_then(ValueRef::as_str)
    }
}

impl TryFrom<Document> for Source {
    type Error = crate::SessionError;

    fn try_from(document: Document) -> Result<Self, crate::SessionError> {
        let source = Self(document);
        match source.text("kind") {
            Some(_) => Ok(source),
            None => Err(crate::SessionError::malformed(
                "the source of a message is an object with a textual `kind`",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Document::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
