//! Questions that are answered elsewhere: by a screen, another process, or after a restart.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use event_listener::Event;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{ApprovalOutcome, ApprovalRequest, Approver};
use crate::{BoxFuture, ToolError};

/// An answer as plain data. It counts once, for the very call its digest names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// The ticket's id.
    pub ticket: String,
    /// The ticket's digest.
    pub digest: String,
    /// The answer.
    pub outcome: ApprovalOutcome,
}

/// Why an answer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// The question has an answer already.
    AlreadyAnswered,
    /// The answer is for a call that differs in tool, schema or arguments.
    OtherCall,
    /// Too many answers wait for questions that nobody has asked.
    TooManyEarly,
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyAnswered => "the question has an answer already",
            Self::TooManyEarly => "too many answers wait for questions that nobody has asked",
            Self::OtherCall => "the answer is for another call: tool, schema or arguments differ",
        })
    }
}

impl std::error::Error for AnswerError {}

/// An approver whose answers arrive as entries of their own.
///
/// A waiting future may be dropped and made again: an answer that came in between is kept until it is used, and used
/// once. All open questions can be listed as a set.
#[derive(Clone, Default)]
pub struct PendingApprovals(Arc<Inner>);

#[derive(Default)]
struct Inner {
    book: Mutex<Book>,
    changed: Event,
}

#[derive(Default)]
struct Book {
    questions: HashMap<String, Question>,
    /// Tickets whose answer was used, the latest last: a copy of that answer is worth nothing.
    used: VecDeque<String>,
}

/// How many answers may come before their questions, and how many used tickets are remembered.
const KEPT: usize = 4_096;

struct Question {
    request: Option<ApprovalRequest>,
    answer: Option<ApprovalAnswer>,
}

impl PendingApprovals {
    /// No open questions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The open questions, by ticket id.
    #[must_use]
    pub fn open(&self) -> Vec<ApprovalRequest> {
        let book = self.0.book.lock();
        let mut open: Vec<_> = book
            .questions
            .values()
            .filter(|q| q.answer.is_none())
            .filter_map(|q| q.request.clone())
            .collect();
        open.sort_by(|a, b| a.ticket.id.cmp(&b.ticket.id));
        open
    }

    /// Answers a question, also one that will only be asked (again) later.
    ///
    /// # Errors
    ///
    /// The question is answered already (a copy of an answer that was used included), the answer names another call, or
    /// 4,096 answers wait for questions that nobody has asked.
    pub fn answer(&self, answer: ApprovalAnswer) -> Result<(), AnswerError> {
        {
            let mut book = self.0.book.lock();
            let Book { questions, used } = &mut *book;
            if !questions.contains_key(&answer.ticket) {
                if used.contains(&answer.ticket) {
                    return Err(AnswerError::AlreadyAnswered);
                }
                let early = questions.values().filter(|q| q.request.is_none()).count();
                if early >= KEPT {
                    return Err(AnswerError::TooManyEarly);
                }
            }
            let question = questions.entry(answer.ticket.clone()).or_insert(Question {
                request: None,
                answer: None,
            });
            if question.answer.is_some() {
                return Err(AnswerError::AlreadyAnswered);
            }
            if question
                .request
                .as_ref()
                .is_some_and(|request| request.ticket.digest != answer.digest)
            {
                return Err(AnswerError::OtherCall);
            }
            question.answer = Some(answer);
        }
        self.0.changed.notify(usize::MAX);
        Ok(())
    }

    /// Takes the answer of a question; an answer for another call is worth nothing.
    fn take(&self, request: &ApprovalRequest) -> Option<ApprovalOutcome> {
        let mut book = self.0.book.lock();
        let Book { questions, used } = &mut *book;
        let question = questions
            .entry(request.ticket.id.clone())
            .or_insert_with(|| Question {
                request: None,
                answer: None,
            });
        question.request = Some(request.clone());
        question.answer.as_ref()?;
        let answer = questions.remove(&request.ticket.id)?.answer?;
        used.retain(|ticket| *ticket != request.ticket.id);
        used.push_back(request.ticket.id.clone());
        if used.len() > KEPT {
            used.pop_front();
        }
        Some(if answer.digest == request.ticket.digest {
            answer.outcome
        } else {
            ApprovalOutcome::Unavailable
        })
    }

    /// Withdraws a question that nobody waits for; an answer that is there stays for the next time.
    fn withdraw(&self, ticket: &str) {
        let mut book = self.0.book.lock();
        if book
            .questions
            .get(ticket)
            .is_some_and(|question| question.answer.is_none())
        {
            book.questions.remove(ticket);
        }
    }
}

struct Waiting {
    pending: PendingApprovals,
    ticket: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.pending.withdraw(&self.ticket);
    }
}

impl Approver for PendingApprovals {
    fn request(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'static, Result<Option<ApprovalOutcome>, ToolError>> {
        let waiting = Waiting {
            pending: self.clone(),
            ticket: request.ticket.id.clone(),
        };
        Box::pin(async move {
            loop {
                let changed = waiting.pending.0.changed.listen();
                if let Some(outcome) = waiting.pending.take(&request) {
                    return Ok(Some(outcome));
                }
                changed.await;
            }
        })
    }
}
