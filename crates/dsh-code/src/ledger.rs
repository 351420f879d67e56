//! The output ledger: one cap for what a run prints and what it returns (chapter 8.6 of the Code Mode specification).
//!
//! Sizes are exact bytes of compact JSON. The worker meters with [`LogMeter`] and [`Meter`], so that it never ships or even
//! builds more than fits; the host repeats it with a [`Ledger`], which is authoritative (C221). Nothing here builds a
//! serialised copy.

use dsh_schema::{Document, Number, ValueRef};

use crate::{ErrorKind, RunError};

/// A budget of bytes was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded;

/// Counts bytes of compact JSON against a budget, and stops as soon as it is crossed (C222).
///
/// # Examples
///
/// ```
/// use dsh_code::ledger::Meter;
/// use dsh_schema::Document;
///
/// let document = Document::parse(r#"{ "k": [1, null] }"#)?;
/// let mut meter = Meter::new(20);
/// meter.value(document.root()).unwrap();
/// assert_eq!(meter.used(), 14);
/// # Ok::<(), dsh_schema::DocumentError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    budget: u64,
    used: u64,
}

impl Meter {
    /// A meter for so many bytes.
    #[must_use]
    pub const fn new(budget: u64) -> Self {
        Self { budget, used: 0 }
    }

    /// The bytes counted so far.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The bytes that are left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.budget.saturating_sub(self.used)
    }

    /// Counts bytes as they are: punctuation, or a number whose text is at hand.
    ///
    /// # Errors
    ///
    /// The budget is crossed.
    pub const fn bytes(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.budget {
            Err(Exceeded)
        } else {
            Ok(())
        }
    }

    /// Counts a string with its quotes.
    ///
    /// # Errors
    ///
    /// The budget is crossed; the rest of the string is not looked at.
    pub fn string(&mut self, text: &str) -> Result<(), Exceeded> {
        // A string is at least as long as its bytes.
        if text.len() as u64 > self.left() {
            return Err(Exceeded);
        }
        self.bytes(string_bytes(text))
    }

    /// Counts a number as ECMAScript prints it.
    ///
    /// # Errors
    ///
    /// The budget is crossed.
    pub fn number(&mut self, number: Number) -> Result<(), Exceeded> {
        self.bytes(number_bytes(number))
    }

    /// Counts a value.
    ///
    /// # Errors
    ///
    /// The budget is crossed; the rest of the value is not looked at.
    pub fn value(&mut self, value: ValueRef<'_>) -> Result<(), Exceeded> {
        // Recursion is as deep as a document, which is bounded.
        if let Some(array) = value.as_array() {
            self.bytes(2 + (array.len() as u64).saturating_sub(1))?;
            return array.iter().try_for_each(|item| self.value(item));
        }
        if let Some(object) = value.as_object() {
            let members = object.len() as u64;
            self.bytes(2 + members + members.saturating_sub(1))?;
            return object.iter().try_for_each(|(key, value)| {
                self.string(key)?;
                self.value(value)
            });
        }
        if let Some(text) = value.as_str() {
            return self.string(text);
        }
        match (value.as_number(), value.as_bool()) {
            (Some(number), _) => self.number(number),
            (None, Some(false)) => self.bytes(5),
            (None, Some(true) | None) => self.bytes(4),
        }
    }
}

/// The bytes of a string in compact JSON, its quotes included (C215).
#[must_use]
pub fn string_bytes(text: &str) -> u64 {
    2 + text.bytes().map(byte_cost).sum::<u64>()
}

fn number_bytes(number: Number) -> u64 {
    match number {
        Number::Int(value) => itoa::Buffer::new().format(value).len() as u64,
        Number::UInt(value) => itoa::Buffer::new().format(value).len() as u64,
        Number::Float(value) => ryu_js::Buffer::new().format(value).len() as u64,
    }
}

/// What one byte of UTF-8 costs; bytes of longer characters cost what they are.
const fn byte_cost(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | 8 | 9 | 10 | 12 | 13 => 2,
        0..32 => 6,
        _ => 1,
    }
}

/// The longest prefix whose JSON, quotes included, fits; `None` when not even the quotes do.
#[must_use]
pub fn fitting_prefix(text: &str, budget: u64) -> Option<&str> {
    let mut left = budget.checked_sub(2)?;
    for (index, character) in text.char_indices() {
        let cost = match u8::try_from(character) {
            Ok(byte) if byte < 0x80 => byte_cost(byte),
            _ => character.len_utf8() as u64,
        };
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            None => return text.get(..index),
        }
    }
    Some(text)
}

/// Admits log entries until the cap is reached.
///
/// It counts the JSON of the list: two brackets, the entries, and a comma between two.
#[derive(Clone, Copy, Debug)]
pub struct LogMeter {
    cap: u64,
    used: u64,
    entries: u64,
    overflowed: bool,
}

impl LogMeter {
    /// A meter for a run whose whole output may have so many bytes.
    #[must_use]
    pub const fn new(cap: u64) -> Self {
        Self {
            cap,
            used: 2,
            entries: 0,
            overflowed: cap < 2,
        }
    }

    /// Admits an entry: all of it, the longest prefix that fits, or nothing. Anything but all of it is an overflow, after
    /// which nothing is admitted any more (C218).
    pub fn admit<'t>(&mut self, entry: &'t str) -> Option<&'t str> {
        if self.overflowed {
            return None;
        }
        let comma = u64::from(self.entries > 0);
        let left = self.cap.saturating_sub(self.used);
        let kept = left
            .checked_sub(comma)
            .and_then(|left| fitting_prefix(entry, left));
        self.overflowed = kept.is_none_or(|kept| kept.len() < entry.len());
        // An empty rest of an entry that did not fit says nothing.
        let kept = kept.filter(|kept| !self.overflowed || !kept.is_empty())?;
        self.used += comma + string_bytes(kept);
        self.entries += 1;
        Some(kept)
    }

    /// The bytes of the list so far.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The bytes that are left for the completion or the failure's message.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.cap.saturating_sub(self.used)
    }

    /// Whether an entry did not fit; the run is over then (C217).
    #[must_use]
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }
}

/// The ledger of one run on the side of the host.
///
/// # Examples
///
/// ```
/// use dsh_code::ledger::Ledger;
/// use dsh_schema::Document;
///
/// let mut ledger = Ledger::new(11);
/// ledger.log("abc");
/// let output = ledger.complete(Some(Document::string("xy")));
/// assert_eq!((output.logs, output.error), (vec!["abc".to_owned()], None));
///
/// let mut ledger = Ledger::new(10);
/// ledger.log("abc");
/// let output = ledger.complete(Some(Document::string("xy")));
/// assert_eq!(output.error.unwrap().kind.as_str(), "output-limit");
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    meter: LogMeter,
    logs: Vec<String>,
}

/// What the ledger lets out of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// What the program returned.
    pub value: Option<Document>,
    /// What it printed.
    pub logs: Vec<String>,
    /// How it failed.
    pub error: Option<RunError>,
}

impl Ledger {
    /// A ledger for so many bytes.
    #[must_use]
    pub const fn new(cap: u64) -> Self {
        Self {
            meter: LogMeter::new(cap),
            logs: Vec::new(),
        }
    }

    /// Books a log entry and returns what is kept of it. See [`overflowed`](Ledger::overflowed).
    pub fn log<'t>(&mut self, entry: &'t str) -> Option<&'t str> {
        let kept = self.meter.admit(entry)?;
        self.logs.push(kept.to_owned());
        Some(kept)
    }

    /// Whether a log entry did not fit: the run has to end now, and [`output_limit`](Ledger::output_limit) is its result.
    #[must_use]
    pub const fn overflowed(&self) -> bool {
        self.meter.overflowed()
    }

    /// The bytes that are left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.meter.left()
    }

    /// The result of a program that returned (C216).
    #[must_use]
    pub fn complete(self, value: Option<Document>) -> Output {
        let fits = |value: &Document| Meter::new(self.meter.left()).value(value.root()).is_ok();
        if self.overflowed() || !value.as_ref().is_none_or(fits) {
            return self.output_limit();
        }
        Output {
            value,
            logs: self.logs,
            error: None,
        }
    }

    /// The result of a run that failed; a message that does not fit makes it `output-limit` (C220).
    #[must_use]
    pub fn fail(self, error: RunError) -> Output {
        if self.overflowed() || Meter::new(self.left()).string(&error.message).is_err() {
            return self.output_limit();
        }
        Output {
            value: None,
            logs: self.logs,
            error: Some(error),
        }
    }

    /// The result of a run that exceeded the cap: the message is reserved first, then entries are kept whole while they
    /// fit, then one prefix, then nothing (C217, C219).
    #[must_use]
    pub fn output_limit(self) -> Output {
        let cap = self.meter.cap;
        let mut message = format!("outer output exceeded {cap} bytes");
        let room = cap.saturating_sub(2);
        let kept = fitting_prefix(&message, room).map_or(0, str::len);
        message.truncate(kept);
        let mut meter = LogMeter::new(cap.saturating_sub(string_bytes(&message)));
        let mut logs = Vec::new();
        for entry in self.logs {
            match meter.admit(&entry) {
                Some(kept) if kept.len() == entry.len() => logs.push(entry),
                kept => {
                    logs.extend(kept.map(str::to_owned));
                    break;
                }
            }
        }
        Output {
            value: None,
            logs,
            error: Some(RunError::new(ErrorKind::OutputLimit, message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(json: &str, budget: u64) -> Result<u64, Exceeded> {
        let document = Document::parse(json).unwrap();
        let mut meter = Meter::new(budget);
        meter.value(document.root()).map(|()| meter.used())
    }

    fn logs(cap: u64, entries: &[&str]) -> Ledger {
        let mut ledger = Ledger::new(cap);
        for entry in entries {
            ledger.log(entry);
        }
        ledger
    }

    fn kind(output: &Output) -> Option<ErrorKind> {
        output.error.as_ref().map(|error| error.kind)
    }

    /// The size of what is let out, by real serialisation.
    fn size(output: &Output) -> usize {
        let logs = serde_json::to_string(&output.logs).unwrap().len();
        let value = output
            .value
            .as_ref()
            .map_or(0, |value| value.to_json().len());
        let message = output.error.as_ref().map_or(0, |error| {
            serde_json::to_string(&error.message).unwrap().len()
        });
        logs + value + message
    }

    /// C215, C222.
    #[test]
    fn sizes_are_those_of_compact_json() {
        for json in [
            "null",
            "true",
            "false",
            "0",
            "-12",
            "1e21",
            "1e-7",
            "0.1",
            "18446744073709551615",
            "[]",
            "{}",
            "[[],{}]",
            r#"{"k":[1,null]}"#,
            r#"{"a":{"b":"c"},"":""}"#,
            r#""\"\\\b\t\n\f\r\u0001\u001f""#,
            "\"\u{7f}\u{2028}é€𝄞\"",
        ] {
            let exact = Document::parse(json).unwrap().to_json().len() as u64;
            assert_eq!(measured(json, exact), Ok(exact), "{json}");
            assert_eq!(measured(json, exact - 1), Err(Exceeded), "{json}");
        }
        // The deepest document there is; brackets on both sides and `null`.
        let deep = format!("{}null{}", "[".repeat(512), "]".repeat(512));
        assert_eq!(measured(&deep, 1028), Ok(1028));
        assert_eq!(measured(&deep, 1027), Err(Exceeded));
    }

    /// C216.
    #[test]
    fn at_the_cap_is_allowed() {
        // Two bytes of it are the empty list of logs.
        let euro = |cap| kind(&Ledger::new(cap).complete(Some(Document::string("€"))));
        assert_eq!(euro(7), None);
        assert_eq!(euro(6), Some(ErrorKind::OutputLimit));
        let both = |cap| logs(cap, &["abc"]).complete(Some(Document::string("xy")));
        assert_eq!(both(11).value, Some(Document::string("xy")));
        assert_eq!(kind(&both(10)), Some(ErrorKind::OutputLimit));
        let thrown = |cap| logs(cap, &["abc"]).fail(RunError::new(ErrorKind::Exception, "xy"));
        assert_eq!(kind(&thrown(11)), Some(ErrorKind::Exception));
        assert_eq!(kind(&thrown(10)), Some(ErrorKind::OutputLimit));
        let value = || Document::parse(r#"{"k":[1,null]}"#).unwrap();
        assert_eq!(kind(&logs(20, &["ab"]).complete(Some(value()))), None);
        assert_eq!(
            kind(&logs(19, &["ab"]).complete(Some(value()))),
            Some(ErrorKind::OutputLimit)
        );
    }

    /// C216: a program that returns nothing costs nothing besides its logs.
    #[test]
    fn an_absent_value_is_free() {
        assert_eq!(kind(&logs(10, &["ab", "c"]).complete(None)), None);
        assert_eq!(
            kind(&logs(9, &["ab", "c"]).complete(None)),
            Some(ErrorKind::OutputLimit)
        );
    }

    /// C218.
    #[test]
    fn the_entry_that_does_not_fit_keeps_a_prefix() {
        let mut ledger = logs(15, &["12345"]);
        assert_eq!(ledger.meter.used(), 9);
        assert_eq!(ledger.log("123456"), Some("123"));
        assert!(ledger.overflowed());
        assert_eq!(ledger.log(""), None, "nothing after it is kept");
        let output = ledger.complete(None);
        assert_eq!(
            output.logs,
            Vec::<String>::new(),
            "the message needs the room"
        );
        assert_eq!(kind(&output), Some(ErrorKind::OutputLimit));
        assert_eq!(logs(8, &["é€"]).logs, ["é"], "cut between characters");
        assert_eq!(logs(7, &["\n\n"]).logs, ["\n"]);
    }

    /// C219.
    #[test]
    fn an_overflow_refits_the_logs_around_the_message() {
        let output = logs(100, &["first", &"x".repeat(200)]).complete(None);
        assert_eq!(
            output.error.as_ref().unwrap().message,
            "outer output exceeded 100 bytes"
        );
        assert_eq!(output.logs.len(), 2);
        assert_eq!(size(&output), 100);
        for cap in 4..200 {
            for entry in ["x", "\n\u{1}é€𝄞\"", ""] {
                let entries = vec![entry; 100];
                let over = logs(cap, &entries).complete(Some(Document::string("y".repeat(300))));
                assert_eq!(kind(&over), Some(ErrorKind::OutputLimit));
                assert!(size(&over) as u64 <= cap, "{cap}: {over:?}");
                let full = format!("outer output exceeded {cap} bytes");
                assert!(full.starts_with(&over.error.unwrap().message));
            }
        }
    }

    /// C220.
    #[test]
    fn a_message_that_does_not_fit_is_an_overflow() {
        for kind_of in [
            ErrorKind::Exception,
            ErrorKind::Abort,
            ErrorKind::InvalidOutput,
        ] {
            let output = Ledger::new(64).fail(RunError::new(kind_of, "m".repeat(1000)));
            assert_eq!(
                output.error.unwrap().message,
                "outer output exceeded 64 bytes"
            );
        }
        let output = Ledger::new(6).fail(RunError::new(ErrorKind::Exception, "é"));
        assert_eq!(
            output.error.unwrap().message,
            "é",
            "4 bytes beside the empty list"
        );
    }

    proptest::proptest! {
        /// C215, C218: as real serialisation counts.
        #[test]
        fn strings_cost_what_they_serialise_to(text in "\\PC*|[\\x00-\\x7f]{0,20}", budget in 0_u64..40) {
            assert_eq!(string_bytes(&text), serde_json::to_string(&text).unwrap().len() as u64);
            match fitting_prefix(&text, budget) {
                None => assert!(budget < 2),
                Some(kept) => {
                    assert!(text.starts_with(kept) && string_bytes(kept) <= budget);
                    let more = text.chars().take(kept.chars().count() + 1).collect::<String>();
                    assert!(kept == text || string_bytes(&more) > budget, "the longest one");
                }
            }
        }

        /// C219: whatever is printed and returned, what comes out is within the cap.
        #[test]
        fn what_comes_out_is_within_the_cap(
            cap in 4_u64..120,
            entries in proptest::collection::vec("\\PC{0,12}", 0..8),
            value in proptest::option::of("\\PC{0,40}"),
            fails in proptest::bool::ANY,
        ) {
            let mut ledger = Ledger::new(cap);
            for entry in &entries {
                ledger.log(entry);
            }
            let output = if fails {
                ledger.fail(RunError::new(ErrorKind::Exception, value.unwrap_or_default()))
            } else {
                ledger.complete(value.map(Document::string))
            };
            assert!(size(&output) as u64 <= cap, "{output:?}");
            for (kept, entry) in output.logs.iter().zip(&entries) {
                assert!(entry.starts_with(kept.as_str()));
            }
        }
    }
}
