//! What the model sees: the ordered subset of a log (chapter 4.4 of the loop specification).

use std::ops::RangeInclusive;

use dsh_tools::Block;

use crate::{Event, Message, Payload, Role, SessionError, SurfaceOp};

/// The nodes of the surface, as places in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    nodes: Vec<u64>,
}

impl Surface {
    /// The places in the log, in surface order.
    #[must_use]
    pub fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// Checks an event against the surface; `event_at` finds the events of the log (L141–L144).
    ///
    /// # Errors
    ///
    /// The event is not on the surface and says so, or the other way round; its range is not on the surface; its sources
    /// are not earlier events, or miss one that it shadows; or it changes more of a tool's result than its content.
    pub fn check<'a>(
        &self,
        event: &Event,
        event_at: impl Fn(u64) -> Option<&'a Event>,
    ) -> Result<(), SessionError> {
        let kind = event.kind();
        let malformed = |what: &str| Err(SessionError::malformed(format!("event `{kind}` {what}")));
        let known = !matches!(event.payload(), Payload::Unknown { .. });
        let on_surface = event.payload().is_surface();
        if on_surface && event.surface().is_none() {
            return malformed("needs `surfaceOp`");
        }
        if known && !on_surface && (event.surface().is_some() || event.sources().is_some()) {
            return malformed("carries neither `surfaceOp` nor `sourceEventSeqs`");
        }
        let mut sorted = event.sources().unwrap_or_default().to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if let Some(sources) = event.sources() {
            if sources.is_empty() && !matches!(event.payload(), Payload::AssistantMessage(_)) {
                return malformed("has an empty list of sources");
            }
            if sorted.len() != sources.len()
                || sorted.last().is_some_and(|last| *last >= event.seq())
            {
                return malformed("names a source twice, or one that is not an earlier event");
            }
        }
        let Some(SurfaceOp::Replace { start, end }) = event.surface() else {
            return Ok(());
        };
        let Some(range) = self.range(start, end) else {
            return malformed("replaces a range that is not on the surface");
        };
        let shadowed = self.nodes.get(range).unwrap_or_default();
        // A compaction may replace tens of thousands at once.
        if !shadowed
            .iter()
            .all(|node| sorted.binary_search(node).is_ok())
        {
            return malformed("does not name every event that it replaces");
        }
        if let Payload::ToolResult(after) = event.payload() {
            let before = match shadowed {
                [one] => event_at(*one).map(Event::payload),
                _ => None,
            };
            let Some(Payload::ToolResult(before)) = before else {
                return malformed("replaces something other than one `tool/result`");
            };
            let mut same = after.clone();
            same.message.content = before.message.content.clone();
            if same != *before || !differ_in_content_only(&before.message, &after.message) {
                return malformed("changes more of a result than its content");
            }
        }
        Ok(())
    }

    /// Takes an event that was checked.
    pub fn apply(&mut self, event: &Event) {
        match event.surface() {
            Some(SurfaceOp::Append) => self.nodes.push(event.seq()),
            Some(SurfaceOp::Replace { start, end }) => {
                if let Some(range) = self.range(start, end) {
                    self.nodes.splice(range, [event.seq()]);
                }
            }
            None => {}
        }
    }

    /// The messages that the model sees, verbatim (L145).
    #[must_use]
    pub fn history<'a>(&self, event_at: impl Fn(u64) -> Option<&'a Event>) -> Vec<Message> {
        let message = |payload: &Payload| match payload {
            Payload::UserMessage(message) => Some(message.clone()),
            Payload::ToolResult(result) => Some(result.message.clone()),
            Payload::AssistantMessage(said) if !said.message.content.is_empty() => {
                Some(said.message.clone())
            }
            _ => None,
        };
        self.nodes
            .iter()
            .filter_map(|node| message(event_at(*node)?.payload()))
            .collect()
    }

    fn range(&self, start: u64, end: u64) -> Option<RangeInclusive<usize>> {
        let place = |seq: u64| self.nodes.iter().position(|node| *node == seq);
        let (start, end) = (place(start)?, place(end)?);
        (start <= end).then_some(start..=end)
    }
}

/// Whether two tool-result messages are the same but for what is inside the result block.
fn differ_in_content_only(before: &Message, after: &Message) -> bool {
    match (before.content.blocks(), after.content.blocks()) {
        ([Block::ToolResult(before)], [Block::ToolResult(after)]) => {
            before.tool_call_id == after.tool_call_id && before.is_error == after.is_error
        }
        _ => false,
    }
}

/// Checks that the message of an event is what its type says (L88, L90).
pub(crate) fn check_message(payload: &Payload) -> Result<(), SessionError> {
    let malformed = |what: &str| {
        let kind = payload.kind();
        Err(SessionError::malformed(format!("event `{kind}` {what}")))
    };
    match payload {
        Payload::UserMessage(message) if message.role != Role::User => {
            malformed("needs a message of the user's role")
        }
        Payload::AssistantMessage(said) if said.message.role != Role::Assistant => {
            malformed("needs a message of the assistant's role")
        }
        Payload::AssistantMessage(said) if said.message.source.kind() != "model" => {
            malformed("needs a message whose source is a model")
        }
        Payload::ToolResult(result) if result.message.answers().is_none() => malformed(
            "needs a message with one `tool-result` block that answers the call of its source",
        ),
        _ => Ok(()),
    }
}
