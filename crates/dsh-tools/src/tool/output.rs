//! From a value to the model's text.

use compact_str::CompactString;
use dsh_schema::ValueRef;

use crate::{Block, Content, ToolError};

/// What a renderer may return.
pub trait IntoContent {
    /// The content.
    ///
    /// # Errors
    ///
    /// The renderer failed; the call fails with `INVALID_TOOL_OUTPUT` (T390).
    fn into_content(self) -> Result<Content, ToolError>;
}

impl IntoContent for Content {
    fn into_content(self) -> Result<Content, ToolError> {
        Ok(self)
    }
}

impl IntoContent for String {
    fn into_content(self) -> Result<Content, ToolError> {
        Ok(Content::text(self))
    }
}

impl IntoContent for &str {
    fn into_content(self) -> Result<Content, ToolError> {
        Ok(Content::text(self))
    }
}

impl IntoContent for Block {
    fn into_content(self) -> Result<Content, ToolError> {
        Ok(Content::from(self))
    }
}

impl IntoContent for Vec<Block> {
    fn into_content(self) -> Result<Content, ToolError> {
        Ok(Content::from(self))
    }
}

impl<C: IntoContent, E: Into<ToolError>> IntoContent for Result<C, E> {
    fn into_content(self) -> Result<Content, ToolError> {
        self.map_err(Into::into)?.into_content()
    }
}

/// The text of a value whose tool declares no renderer: strings as they are, anything else as compact JSON.
pub(crate) fn render_value(value: ValueRef<'_>) -> Content {
    match (value.as_str(), value.as_i64()) {
        (Some(text), _) => Content::text(CompactString::from(text)),
        (None, Some(number)) => {
            Content::text(CompactString::new(itoa::Buffer::new().format(number)))
        }
        (None, None) => Content::text(value.to_json()),
    }
}
