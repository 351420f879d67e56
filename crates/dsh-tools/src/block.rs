//! Content blocks and context messages: what a model reads.

use std::fmt;

use compact_str::CompactString;
use dsh_schema::{Document, ValueRef};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// One block of model-facing content (T32).
///
/// The vocabulary is open: a block of a kind that this version does not know is kept as it came and written back
/// unchanged (T33).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text(CompactString),
    /// Text that the model reasoned with.
    Reasoning(CompactString),
    /// A picture.
    Image(Box<Image>),
    /// A call that a model asked for; its arguments are the model's raw text.
    ToolCall(Box<ToolCallBlock>),
    /// The result of such a call.
    ToolResult(Box<ToolResultBlock>),
    /// Any other block, an object with a `type`.
    Unknown(Box<Document>),
}

/// The picture of a [`Block::Image`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: CompactString,
    /// The bytes in base64.
    pub data: String,
}

/// The payload of a [`Block::ToolCall`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallBlock {
    /// The call's id.
    pub id: CompactString,
    /// The tool's name.
    pub name: CompactString,
    /// The arguments exactly as the model wrote them.
    pub arguments: String,
}

/// The payload of a [`Block::ToolResult`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultBlock {
    /// The id of the call this answers.
    pub tool_call_id: CompactString,
    /// What the tool said.
    pub content: Content,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<CompactString>) -> Self {
        Self::Text(text.into())
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The block's `type` tag.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::Image(_) => "image",
            Self::ToolCall(_) => "tool-call",
            Self::ToolResult(_) => "tool-result",
            Self::Unknown(block) => tag(block.root()).unwrap_or("unknown"),
        }
    }
}

fn tag(block: ValueRef<'_>) -> Option<&str> {
    block.get("type").and_then(ValueRef::as_str)
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

#[derive(Serialize)]
struct Tagged<'a, T: Serialize> {
    r#type: &'static str,
    #[serde(flatten)]
    payload: &'a T,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |serializer: S, text: &str| {
            let mut map = serializer.serialize_map(Some(2))?;
            map.serialize_entry("type", self.kind())?;
            map.serialize_entry("text", text)?;
            map.end()
        };
        match self {
            Self::Text(t) | Self::Reasoning(t) => text(serializer, t),
            Self::Image(payload) => tagged("image", &**payload, serializer),
            Self::ToolCall(payload) => tagged("tool-call", &**payload, serializer),
            Self::ToolResult(payload) => tagged("tool-result", &**payload, serializer),
            Self::Unknown(block) => block.serialize(serializer),
        }
    }
}

fn tagged<T: Serialize, S: Serializer>(
    kind: &'static str,
    payload: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Tagged {
        r#type: kind,
        payload,
    }
    .serialize(serializer)
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        Self::from_document(&document).map_err(D::Error::custom)
    }
}

impl Block {
    /// Reads a block from its JSON form.
    ///
    /// # Errors
    ///
    /// Not an object with a textual `type`, or a known kind without the fields it needs.
    pub fn from_document(document: &Document) -> Result<Self, MalformedBlock> {
        let root = document.root();
        let malformed = |reason: String| MalformedBlock { reason };
        let kind = tag(root).ok_or_else(|| {
            malformed("a content block is an object with a textual `type`".to_owned())
        })?;
        let text = |kind: &str| {
            root.get("text")
                .and_then(ValueRef::as_str)
                .map(CompactString::from)
                .ok_or_else(|| malformed(format!("a `{kind}` block needs a textual `text`")))
        };
        let decoded = |error: dsh_schema::DocumentError| {
            malformed(format!("a `{kind}` block is malformed: {error}"))
        };
        Ok(match kind {
            "text" => Self::Text(text("text")?),
            "reasoning" => Self::Reasoning(text("reasoning")?),
            "image" if root.get("data").is_some() => {
                Self::Image(Box::new(document.decode().map_err(decoded)?))
            }
            "tool-call" => Self::ToolCall(Box::new(document.decode().map_err(decoded)?)),
            "tool-result" => Self::ToolResult(Box::new(document.decode().map_err(decoded)?)),
            _ => Self::Unknown(Box::new(document.clone())),
        })
    }
}

/// A content block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedBlock {
    reason: String,
}

impl fmt::Display for MalformedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for MalformedBlock {}

/// A list of content blocks; nearly always one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(SmallVec<[Block; 1]>);

impl Content {
    /// No blocks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One text block.
    pub fn text(text: impl Into<CompactString>) -> Self {
        Self(SmallVec::from_buf([Block::Text(text.into())]))
    }

    /// Adds a block at the end.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.0.push(block.into());
    }

    /// The blocks.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.0
    }

    /// The text of the text blocks, joined by newlines, with each other block as `[<type> content]` (T225).
    #[must_use]
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for (index, block) in self.0.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            match block.as_text() {
                Some(text) => out.push_str(text),
                None => {
                    out.push('[');
                    out.push_str(block.kind());
                    out.push_str(" content]");
                }
            }
        }
        out
    }
}

impl std::ops::Deref for Content {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        &self.0
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self(SmallVec::from_buf([block]))
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self(SmallVec::from_vec(blocks))
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl FromIterator<Block> for Content {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        Self(blocks.into_iter().collect())
    }
}

/// Where a context message comes from (T34).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContextSource {
    /// A plugin, with data of its own.
    Plugin {
        /// The plugin's name.
        plugin: CompactString,
        /// What the plugin keeps beside the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Document>,
    },
    /// The person at the other end.
    User,
}

/// A user-role message that travels with a result and follows it in the history (T34).
///
/// Each keeps its own id and source; nothing merges, re-attributes or deduplicates them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextMessage {
    /// The message's id, chosen by whoever makes it.
    pub id: CompactString,
    /// Always `user`.
    #[serde(default)]
    pub role: UserRole,
    /// What it says.
    pub content: Content,
    /// Who says it.
    pub source: ContextSource,
}

/// The only role a context message can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// The user.
    #[default]
    User,
}

impl ContextMessage {
    /// A text message of a plugin.
    pub fn plugin(
        id: impl Into<CompactString>,
        plugin: impl Into<CompactString>,
        content: impl Into<Content>,
    ) -> Self {
        Self {
            id: id.into(),
            role: UserRole::User,
            content: content.into(),
            source: ContextSource::Plugin {
                plugin: plugin.into(),
                form: None,
            },
        }
    }
}
