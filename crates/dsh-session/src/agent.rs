//! Who is at work in a session, and its open turn (D36).

use std::collections::HashMap;
use std::sync::Arc;

use dsh_context::{Effect, Scope, ScopeId};
use dsh_tools::{ApprovalOutcome, ApprovalRequest, ApprovalSink, ApprovalTicket, ToolError};
use parking_lot::Mutex;

use crate::{
    ApprovalAsked, ApprovalDecided, Session, SessionError, TurnEnd, TurnEnding, TurnStart,
};

/// One agent: the scope that its calls are made for, and the session that they are logged in.
///
/// A process of the command line is one agent with one open turn, a stateful connection is one, and on stateless protocols
/// an authenticated principal is (D36).
#[derive(Clone, Debug)]
pub struct Agent {
    scope: Scope,
    session: Session,
}

impl Agent {
    /// An agent with a scope of its own, labelled with the session's id (L193).
    #[must_use]
    pub fn new(session: Session) -> Self {
        let scope = Scope::new(session.id());
        Self { scope, session }
    }

    /// An agent of a scope that exists, such as one below a preset.
    #[must_use]
    pub fn of(scope: &Scope, session: Session) -> Self {
        Self {
            scope: scope.clone(),
            session,
        }
    }

    /// The scope of its calls.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The session that it works in.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Opens the next turn; its number is returned.
    ///
    /// # Errors
    ///
    /// A turn is open, or the log refuses.
    pub fn begin_turn(&self) -> Result<u64, SessionError> {
        let turn = self.session.last_turn() + 1;
        self.session.append(TurnStart { turn })?;
        Ok(turn)
    }

    /// Closes the open turn.
    ///
    /// # Errors
    ///
    /// No turn is open, a step is, or the log refuses.
    pub fn end_turn(&self, reason: TurnEnding) -> Result<(), SessionError> {
        let turn = self.session.open_turn().unwrap_or_default();
        self.session.append(TurnEnd { turn, reason })?;
        Ok(())
    }
}

/// The agents of a process. Cheap to clone.
///
/// What runs on behalf of a scope is logged in the session of the nearest agent on its chain.
#[derive(Clone, Debug, Default)]
pub struct Agents(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    live: Mutex<HashMap<ScopeId, Agent>>,
    /// Where the end of a question is logged: where its beginning was.
    asking: Mutex<HashMap<String, Session>>,
}

impl Agents {
    /// No agents.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters an agent, for as long as its scope lives.
    ///
    /// # Errors
    ///
    /// Another agent has the scope or the session's id, or the scope has ended.
    pub fn enter(&self, agent: &Agent) -> Result<Effect, SessionError> {
        let key = agent.scope.id();
        {
            let mut live = self.0.live.lock();
            let id = agent.session.id();
            if live.contains_key(&key) || live.values().any(|other| other.session.id() == id) {
                return Err(SessionError::refused(format!(
                    "agent \"{id}\" is live already"
                )));
            }
            live.insert(key, agent.clone());
        }
        let table = Arc::downgrade(&self.0);
        let leave = move || {
            let left = table
                .upgrade()
                .and_then(|table| table.live.lock().remove(&key));
            drop(left);
        };
        agent
            .scope
            .fiber()
            .effect("agent", leave.clone())
            .inspect_err(|_| leave())
            .map_err(Into::into)
    }

    /// The agent on whose behalf a scope works.
    #[must_use]
    pub fn of(&self, scope: &Scope) -> Option<Agent> {
        let live = self.0.live.lock();
        scope
            .chain()
            .find_map(|scope| live.get(&scope.id()).cloned())
    }
}

/// Logs each question and its end in the session of the agent that is asked for.
impl ApprovalSink for Agents {
    fn asked(&self, request: &ApprovalRequest) -> Result<(), ToolError> {
        let agent = self.of(&request.agent).ok_or_else(|| {
            ToolError::new(format!(
                "\"{}\" has no session to log a question in",
                request.agent.label()
            ))
        })?;
        let ticket = &request.ticket;
        let asked = ApprovalAsked {
            id: ticket.id.clone(),
            tool_name: ticket.tool.clone(),
            call_id: Some(ticket.call_id.clone()),
            reason: request.reason.clone(),
        };
        agent
            .session
            .append(asked)
            .map_err(SessionError::into_tool_error)?;
        self.0
            .asking
            .lock()
            .insert(ticket.id.clone(), agent.session);
        Ok(())
    }

    fn decided(&self, ticket: &ApprovalTicket, outcome: ApprovalOutcome) -> Result<(), ToolError> {
        let session = self.0.asking.lock().remove(&ticket.id);
        let session = session
            .ok_or_else(|| ToolError::new(format!("question \"{}\" was not asked", ticket.id)))?;
        let decided = ApprovalDecided {
            id: ticket.id.clone(),
            outcome,
        };
        session
            .append(decided)
            .map(drop)
            .map_err(SessionError::into_tool_error)
    }
}
