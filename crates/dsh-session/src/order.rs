//! The ordering invariants of a log (chapter 4.5 of the loop specification).

use std::collections::{HashMap, HashSet};

use crate::{Event, Payload, SessionError, SurfaceOp};

/// The code of a result that recovery writes for a call that never started.
const TOOL_NOT_STARTED: &str = "TOOL_NOT_STARTED";

/// Follows a log and refuses events that stand where they may not (L150).
///
/// # Examples
///
/// ```
/// use dsh_session::{Event, Order};
///
/// let log = r#"[
///     {"type":"turn/start","seq":0,"time":0,"data":{"turn":1}},
///     {"type":"turn/start","seq":1,"time":0,"data":{"turn":2}}
/// ]"#;
/// let events: Vec<Event> = serde_json::from_str(log).unwrap();
/// assert_eq!(
///     Order::check_all(&events).unwrap_err().to_string(),
///     "event 1 `turn/start`: turn 1 is still open"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Order {
    next_seq: u64,
    last_turn: u64,
    turn: Option<u64>,
    last_step: u64,
    step: Option<u64>,
    /// Unanswered calls of the open step; a provider may use an id twice (L117).
    unanswered: HashMap<String, usize>,
    /// Open questions of the open turn.
    asked: HashSet<String>,
    /// The root of each sub-call of the open turn.
    roots: HashMap<String, String>,
}

impl Order {
    /// Before the first event.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a whole log, and returns where it left off.
    ///
    /// # Errors
    ///
    /// The first event that stands where it may not.
    pub fn check_all<'a>(
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Result<Self, SessionError> {
        let mut order = Self::new();
        for event in events {
            order.admit(event)?;
        }
        Ok(order)
    }

    /// The open turn.
    #[must_use]
    pub fn open_turn(&self) -> Option<u64> {
        self.turn
    }

    /// The open step of the open turn.
    #[must_use]
    pub fn open_step(&self) -> Option<u64> {
        self.step
    }

    /// The number of the last turn, open or not; 0 before the first.
    #[must_use]
    pub fn last_turn(&self) -> u64 {
        self.last_turn
    }

    /// Checks an event and takes it.
    ///
    /// # Errors
    ///
    /// As for [`check`](Order::check).
    pub fn admit(&mut self, event: &Event) -> Result<(), SessionError> {
        self.check(event)?;
        self.apply(event);
        Ok(())
    }

    /// Whether the event may come next.
    ///
    /// # Errors
    ///
    /// It may not; the message says why.
    pub fn check(&self, event: &Event) -> Result<(), SessionError> {
        self.judge(event).map_err(|why| {
            SessionError::disordered(format!("event {} `{}`: {why}", event.seq(), event.kind()))
        })
    }

    fn judge(&self, event: &Event) -> Result<(), String> {
        if event.seq() != self.next_seq {
            return Err(format!("the log goes on at {}", self.next_seq));
        }
        match event.payload() {
            Payload::TurnStart(start) => match self.turn {
                Some(open) => Err(format!("turn {open} is still open")),
                None if start.turn != self.last_turn + 1 => Err(format!(
                    "turn {} does not follow turn {}",
                    start.turn, self.last_turn
                )),
                None => Ok(()),
            },
            Payload::TurnEnd(end) => {
                self.in_turn(Some(end.turn))?;
                self.step
                    .map_or(Ok(()), |open| Err(format!("step {open} is still open")))
            }
            Payload::StepStart(start) => {
                self.in_turn(Some(start.turn))?;
                match self.step {
                    Some(open) => Err(format!("step {open} is still open")),
                    None if start.step != self.last_step + 1 => Err(format!(
                        "step {} does not follow step {}",
                        start.step, self.last_step
                    )),
                    None => Ok(()),
                }
            }
            Payload::StepEnd(end) => self.in_step(end.turn, end.step),
            Payload::AssistantChunk(chunk) => self.in_step(chunk.turn, chunk.step),
            Payload::AssistantMessage(said) => self.in_step(said.turn, said.step),
            Payload::ToolCall(call) => self.in_step(call.turn, call.step),
            Payload::ToolResult(_)
                if matches!(event.surface(), Some(SurfaceOp::Replace { .. })) =>
            {
                self.in_turn(None)?;
                // A result is rewritten between steps only (L154).
                self.step
                    .map_or(Ok(()), |open| Err(format!("step {open} is still open")))
            }
            Payload::ToolResult(result) => {
                self.in_step(result.turn, result.step)?;
                let call = result.message.answers().unwrap_or_default();
                let never_started = result
                    .error
                    .as_ref()
                    .is_some_and(|error| error.code == TOOL_NOT_STARTED);
                if never_started || self.unanswered.get(call).is_some_and(|open| *open > 0) {
                    Ok(())
                } else {
                    Err(format!(
                        "call \"{call}\" is not an unanswered one of this step"
                    ))
                }
            }
            Payload::RequestHeader(_) | Payload::RequestContext(_) | Payload::TodoWrite(_) => {
                self.in_turn(None)
            }
            Payload::CodeDispatchStart(start) => self.in_program(
                start
                    .root_call_id
                    .as_ref()
                    .unwrap_or(&start.parent_call_id)
                    .as_str(),
                start.parent_call_id.as_str(),
                start.sub_call_id.as_str(),
            ),
            Payload::CodeDispatch(end) => self.in_program(
                end.root_call_id
                    .as_ref()
                    .unwrap_or(&end.parent_call_id)
                    .as_str(),
                end.parent_call_id.as_str(),
                end.sub_call_id.as_str(),
            ),
            Payload::ApprovalAsked(asked) => {
                self.in_turn(None)?;
                if self.asked.contains(&asked.id) {
                    return Err(format!("question \"{}\" is open already", asked.id));
                }
                Ok(())
            }
            Payload::ApprovalDecided(decided) => {
                self.in_turn(None)?;
                if self.asked.contains(&decided.id) {
                    Ok(())
                } else {
                    Err(format!("question \"{}\" was not asked", decided.id))
                }
            }
            _ => Ok(()),
        }
    }

    fn in_turn(&self, turn: Option<u64>) -> Result<(), String> {
        match (self.turn, turn) {
            (None, _) => Err("no turn is open".to_owned()),
            (Some(open), Some(turn)) if open != turn => {
                Err(format!("turn {open} is open, not {turn}"))
            }
            _ => Ok(()),
        }
    }

    fn in_step(&self, turn: u64, step: u64) -> Result<(), String> {
        self.in_turn(Some(turn))?;
        match self.step {
            None => Err("no step is open".to_owned()),
            Some(open) if open != step => Err(format!("step {open} is open, not {step}")),
            Some(_) => Ok(()),
        }
    }

    /// C160.
    fn in_program(&self, root: &str, parent: &str, sub_call: &str) -> Result<(), String> {
        self.in_turn(None)?;
        if root.is_empty() || parent.is_empty() || sub_call.is_empty() {
            return Err("a call id is empty".to_owned());
        }
        if let Some(known) = self.roots.get(sub_call)
            && known != root
        {
            return Err(format!(
                "sub-call \"{sub_call}\" belongs to \"{known}\", not to \"{root}\""
            ));
        }
        if parent != root && self.roots.get(parent).is_none_or(|known| known != root) {
            return Err(format!("parent \"{parent}\" does not belong to \"{root}\""));
        }
        Ok(())
    }

    /// Takes an event that was checked.
    pub fn apply(&mut self, event: &Event) {
        self.next_seq = event.seq() + 1;
        match event.payload() {
            Payload::TurnStart(start) => {
                self.turn = Some(start.turn);
                self.last_turn = start.turn;
                self.last_step = 0;
            }
            Payload::TurnEnd(_) => {
                self.turn = None;
                self.asked.clear();
                self.roots.clear();
            }
            Payload::StepStart(start) => {
                self.step = Some(start.step);
                self.last_step = start.step;
            }
            Payload::StepEnd(_) => {
                self.step = None;
                // A result in a later step never answers a call of this one (L153).
                self.unanswered.clear();
            }
            Payload::ToolCall(call) => {
                *self.unanswered.entry(call.call_id.to_string()).or_default() += 1
            }
            Payload::ToolResult(result) if event.surface() == Some(SurfaceOp::Append) => {
                let call = result.message.answers().unwrap_or_default();
                if let Some(open) = self.unanswered.get_mut(call) {
                    *open = open.saturating_sub(1);
                }
            }
            Payload::CodeDispatchStart(start) => {
                let root = start.root_call_id.as_ref().unwrap_or(&start.parent_call_id);
                self.roots
                    .insert(start.sub_call_id.to_string(), root.to_string());
            }
            Payload::CodeDispatch(end) => {
                let root = end.root_call_id.as_ref().unwrap_or(&end.parent_call_id);
                self.roots
                    .insert(end.sub_call_id.to_string(), root.to_string());
            }
            Payload::ApprovalAsked(asked) => {
                self.asked.insert(asked.id.clone());
            }
            Payload::ApprovalDecided(decided) => {
                self.asked.remove(&decided.id);
            }
            _ => {}
        }
    }
}
