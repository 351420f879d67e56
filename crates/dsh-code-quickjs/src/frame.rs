//! The protocol between host and worker: length-prefixed binary frames over one socket.
//!
//! A frame is four bytes of length (little endian), one byte of kind, and its fields in a fixed order: integers little
//! endian, texts as length and UTF-8, values as compact JSON text. Neither side trusts the other: a length beyond the
//! agreed maximum ends the run before anything of that size is allocated (C274), and a frame that does not decode to
//! its last byte is dropped as a whole (C264). Values are parsed by [`dsh_schema::Document`], whose nodes are one flat
//! pre-order list: no recursion, depth 512, no duplicate keys, no negative zero (C273).

use std::ops::Range;

use dsh_code::SandboxLayer;

/// Changes with every incompatible change of a frame.
const VERSION: u32 = 1;
const MAGIC: &str = "dsh-code-worker";

/// Bytes of the length in front of each frame.
const PREFIX: usize = 4;

/// Entries of a diagnostic list that are kept, and the bytes of each.
pub(crate) const LIST_ENTRIES: usize = 64;
pub(crate) const LIST_ENTRY_BYTES: usize = 512;

/// What the worker tells besides an outcome. For the envelope, never for a model (D15).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    /// Processor time of the program, in microseconds.
    pub(crate) busy_us: u64,
    /// Calls that the program never awaited.
    pub(crate) unawaited: Vec<String>,
    /// Rejections that nothing handled.
    pub(crate) rejections: Vec<String>,
}

/// The kinds of failure that a worker may report itself (C265).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Exception,
    InvalidOutput,
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report<'a> {
    /// The sandbox stands and the engine is ready.
    Hello { layers: Vec<SandboxLayer> },
    /// The program parsed; its first statement is next.
    Started { strip_us: u64 },
    /// The program called a binding.
    Call {
        id: u64,
        namespace: u32,
        function: u32,
        argument: &'a str,
    },
    /// The program printed.
    Log { text: &'a str },
    /// The program returned.
    Done {
        value: Option<&'a str>,
        strays: Strays,
    },
    /// The program failed.
    Failed {
        failure: Failure,
        message: &'a str,
        strays: Strays,
    },
    /// Logs and completion do not fit the cap.
    OutputLimit { strays: Strays },
    /// The compute budget is used up.
    Exhausted { strays: Strays },
    /// The heap is used up and the program did not catch it.
    OutOfMemory { strays: Strays },
}

/// A namespace as the worker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared<'a> {
    pub(crate) global: &'a str,
    pub(crate) functions: Vec<&'a str>,
    /// Class name and member property.
    pub(crate) error_class: Option<(&'a str, &'a str)>,
}

/// From the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order<'a> {
    /// The one program of this worker.
    Boot {
        compute_ms: u64,
        memory_bytes: u64,
        output_bytes: u64,
        namespaces: Vec<Declared<'a>>,
        program: &'a str,
    },
    /// A call succeeded.
    Resolve { id: u64, value: &'a str },
    /// A call failed.
    Reject { id: u64, message: &'a str },
}

mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const STARTED: u8 = 2;
    pub(super) const CALL: u8 = 3;
    pub(super) const LOG: u8 = 4;
    pub(super) const DONE: u8 = 5;
    pub(super) const EXCEPTION: u8 = 6;
    pub(super) const INVALID_OUTPUT: u8 = 7;
    pub(super) const OUTPUT_LIMIT: u8 = 8;
    pub(super) const EXHAUSTED: u8 = 9;
    pub(super) const OUT_OF_MEMORY: u8 = 10;
    pub(super) const BOOT: u8 = 65;
    pub(super) const RESOLVE: u8 = 66;
    pub(super) const REJECT: u8 = 67;
}

impl Report<'_> {
    /// Appends the frame.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { layers } => Frame::begin(out, kind::HELLO)
                .text(MAGIC)
                .u32(VERSION)
                .list(layers, |frame, layer| {
                    frame
                        .text(&layer.name)
                        .u8(layer.active.into())
                        .text(&layer.detail)
                }),
            Self::Started { strip_us } => Frame::begin(out, kind::STARTED).u64(*strip_us),
            Self::Call {
                id,
                namespace,
                function,
                argument,
            } => Frame::begin(out, kind::CALL)
                .u64(*id)
                .u32(*namespace)
                .u32(*function)
                .text(argument),
            Self::Log { text } => Frame::begin(out, kind::LOG).text(text),
            Self::Done { value, strays } => {
                let frame = Frame::begin(out, kind::DONE).u8(value.is_some().into());
                frame.text(value.unwrap_or_default()).strays(strays)
            }
            Self::Failed {
                failure,
                message,
                strays,
            } => {
                let kind = match failure {
                    Failure::Exception => kind::EXCEPTION,
                    Failure::InvalidOutput => kind::INVALID_OUTPUT,
                };
                Frame::begin(out, kind).text(message).strays(strays)
            }
            Self::OutputLimit { strays } => Frame::begin(out, kind::OUTPUT_LIMIT).strays(strays),
            Self::Exhausted { strays } => Frame::begin(out, kind::EXHAUSTED).strays(strays),
            Self::OutOfMemory { strays } => Frame::begin(out, kind::OUT_OF_MEMORY).strays(strays),
        }
        .end();
    }

    /// Decodes a frame without its length; `None` when it is not exactly one of them.
    pub(crate) fn read(bytes: &[u8]) -> Option<Report<'_>> {
        let mut fields = Fields(bytes);
        let report = match fields.u8()? {
            kind::HELLO => {
                if fields.text()? != MAGIC || fields.u32()? != VERSION {
                    return None;
                }
                Report::Hello {
                    layers: fields.list(|fields| {
                        Some(SandboxLayer {
                            name: fields.text()?.to_owned(),
                            active: fields.bool()?,
                            detail: fields.text()?.to_owned(),
                        })
                    })?,
                }
            }
            kind::STARTED => Report::Started {
                strip_us: fields.u64()?,
            },
            kind::CALL => Report::Call {
                id: fields.u64()?,
                namespace: fields.u32()?,
                function: fields.u32()?,
                argument: fields.text()?,
            },
            kind::LOG => Report::Log {
                text: fields.text()?,
            },
            kind::DONE => {
                let has_value = fields.bool()?;
                let value = fields.text()?;
                Report::Done {
                    value: has_value.then_some(value),
                    strays: fields.strays()?,
                }
            }
            kind @ (kind::EXCEPTION | kind::INVALID_OUTPUT) => Report::Failed {
                failure: if kind == kind::EXCEPTION {
                    Failure::Exception
                } else {
                    Failure::InvalidOutput
                },
                message: fields.text()?,
                strays: fields.strays()?,
            },
            kind::OUTPUT_LIMIT => Report::OutputLimit {
                strays: fields.strays()?,
            },
            kind::EXHAUSTED => Report::Exhausted {
                strays: fields.strays()?,
            },
            kind::OUT_OF_MEMORY => Report::OutOfMemory {
                strays: fields.strays()?,
            },
            _ => return None,
        };
        fields.0.is_empty().then_some(report)
    }
}

impl Order<'_> {
    /// Appends the frame.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Boot {
                compute_ms,
                memory_bytes,
                output_bytes,
                namespaces,
                program,
            } => Frame::begin(out, kind::BOOT)
                .u64(*compute_ms)
                .u64(*memory_bytes)
                .u64(*output_bytes)
                .list(namespaces, |frame, namespace| {
                    let (class, member) = namespace.error_class.unwrap_or_default();
                    frame
                        .text(namespace.global)
                        .list(&namespace.functions, |frame, name| frame.text(name))
                        .u8(namespace.error_class.is_some().into())
                        .text(class)
                        .text(member)
                })
                .text(program),
            Self::Resolve { id, value } => Frame::begin(out, kind::RESOLVE).u64(*id).text(value),
            Self::Reject { id, message } => Frame::begin(out, kind::REJECT).u64(*id).text(message),
        }
        .end();
    }

    /// Decodes a frame without its length; `None` when it is not exactly one of them.
    pub(crate) fn read(bytes: &[u8]) -> Option<Order<'_>> {
        let mut fields = Fields(bytes);
        let order = match fields.u8()? {
            kind::BOOT => Order::Boot {
                compute_ms: fields.u64()?,
                memory_bytes: fields.u64()?,
                output_bytes: fields.u64()?,
                namespaces: fields.list(|fields| {
                    let global = fields.text()?;
                    let functions = fields.list(Fields::text)?;
                    let has_class = fields.bool()?;
                    let class = (fields.text()?, fields.text()?);
                    Some(Declared {
                        global,
                        functions,
                        error_class: has_class.then_some(class),
                    })
                })?,
                program: fields.text()?,
            },
            kind::RESOLVE => Order::Resolve {
                id: fields.u64()?,
                value: fields.text()?,
            },
            kind::REJECT => Order::Reject {
                id: fields.u64()?,
                message: fields.text()?,
            },
            _ => return None,
        };
        fields.0.is_empty().then_some(order)
    }
}

/// A frame under construction.
struct Frame<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Frame<'o> {
    fn begin(out: &'o mut Vec<u8>, kind: u8) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        out.push(kind);
        Self { out, start }
    }

    fn u8(self, value: u8) -> Self {
        self.out.push(value);
        self
    }

    fn u32(self, value: u32) -> Self {
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(self, value: u64) -> Self {
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn text(self, text: &str) -> Self {
        let frame = self.u32(size(text.len()));
        frame.out.extend_from_slice(text.as_bytes());
        frame
    }

    fn list<T>(self, items: &[T], each: impl Fn(Self, &T) -> Self) -> Self {
        let frame = self.u32(size(items.len()));
        items.iter().fold(frame, each)
    }

    fn strays(self, strays: &Strays) -> Self {
        self.u64(strays.busy_us)
            .list(&strays.unawaited, |frame, name| frame.text(name))
            .list(&strays.rejections, |frame, text| frame.text(text))
    }

    fn end(self) {
        let length = size(self.out.len() - self.start - PREFIX).to_le_bytes();
        if let Some(prefix) = self.out.get_mut(self.start..self.start + PREFIX) {
            prefix.copy_from_slice(&length);
        }
    }
}

/// A length as it is written. Beyond 4 GiB, which no document reaches, the frame does not decode any more.
fn size(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The fields of a frame that are left.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(u8::from_le_bytes)
    }

    fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }

    /// The count is believed one item at a time, so that a forged one allocates nothing.
    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(each(self)?);
        }
        Some(items)
    }

    /// Diagnostics from a worker: kept short whatever it sends.
    fn strays(&mut self) -> Option<Strays> {
        let busy_us = self.u64()?;
        let short = |fields: &mut Self| {
            let mut list = fields.list(|fields| {
                let text = fields.text()?;
                Some(
                    text.get(..text.floor_char_boundary(LIST_ENTRY_BYTES))?
                        .to_owned(),
                )
            })?;
            list.truncate(LIST_ENTRIES);
            Some(list)
        };
        Some(Strays {
            busy_us,
            unawaited: short(self)?,
            rejections: short(self)?,
        })
    }
}

/// A length prefix above the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// What the prefix says.
    pub(crate) length: u32,
}

/// Bytes received and not yet decoded.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    max: usize,
}

/// Room made for each read.
const CHUNK: usize = 32 << 10;

impl Inbox {
    /// An inbox for frames of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            max,
        }
    }

    /// Where to append what is read; it has room. It grows by what has arrived, never by what a prefix promises.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > CHUNK {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.reserve(CHUNK);
        &mut self.bytes
    }

    /// The place of the next complete frame, which is then taken.
    pub(crate) fn next(&mut self) -> Result<Option<Range<usize>>, TooLong> {
        let pending = self.bytes.get(self.start..).unwrap_or_default();
        let Some((prefix, rest)) = pending.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*prefix);
        let size = length as usize;
        if size > self.max {
            return Err(TooLong { length });
        }
        if rest.len() < size {
            return Ok(None);
        }
        let start = self.start + PREFIX;
        self.start = start + size;
        Ok(Some(start..self.start))
    }

    /// The bytes of a place; valid until the next [`room`](Self::room).
    pub(crate) fn get(&self, place: Range<usize>) -> &[u8] {
        self.bytes.get(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strays() -> Strays {
        Strays {
            busy_us: 7,
            unawaited: vec!["tools.a".to_owned()],
            rejections: vec!["Error: é".to_owned()],
        }
    }

    fn reports() -> Vec<Report<'static>> {
        vec![
            Report::Hello {
                layers: vec![SandboxLayer {
                    name: "seccomp".to_owned(),
                    active: true,
                    detail: "27 calls".to_owned(),
                }],
            },
            Report::Started { strip_us: 5 },
            Report::Call {
                id: u64::MAX,
                namespace: 0,
                function: 3,
                argument: r#"{"a":[1]}"#,
            },
            Report::Log { text: "€" },
            Report::Done {
                value: None,
                strays: strays(),
            },
            Report::Done {
                value: Some("1"),
                strays: Strays::default(),
            },
            Report::Failed {
                failure: Failure::Exception,
                message: "m",
                strays: strays(),
            },
            Report::Failed {
                failure: Failure::InvalidOutput,
                message: "",
                strays: strays(),
            },
            Report::OutputLimit { strays: strays() },
            Report::Exhausted { strays: strays() },
            Report::OutOfMemory { strays: strays() },
        ]
    }

    fn orders() -> Vec<Order<'static>> {
        vec![
            Order::Boot {
                compute_ms: 1,
                memory_bytes: 2,
                output_bytes: 3,
                namespaces: vec![Declared {
                    global: "tools",
                    functions: vec!["a", "__proto__"],
                    error_class: Some(("ToolCallError", "toolName")),
                }],
                program: "return 1",
            },
            Order::Resolve { id: 1, value: "{}" },
            Order::Reject {
                id: 2,
                message: "no",
            },
        ]
    }

    /// C264, C272: what was written is read, and nothing else: cut short or made longer, a frame is none.
    #[test]
    fn frames_round_trip_whole_or_not_at_all() {
        for report in reports() {
            let mut bytes = Vec::new();
            report.write(&mut bytes);
            let payload = &bytes[PREFIX..];
            assert_eq!(Report::read(payload), Some(report));
            for end in 0..payload.len() {
                assert_eq!(Report::read(&payload[..end]), None);
            }
            assert_eq!(Report::read(&[payload, &[0]].concat()), None);
            assert_eq!(
                Order::read(payload),
                None,
                "the kinds of both sides are apart"
            );
        }
        for order in orders() {
            let mut bytes = Vec::new();
            order.write(&mut bytes);
            let payload = &bytes[PREFIX..];
            assert_eq!(Order::read(payload), Some(order));
            for end in 0..payload.len() {
                assert_eq!(Order::read(&payload[..end]), None);
            }
            assert_eq!(Report::read(payload), None);
        }
    }

    /// C265: flags are 0 or 1, texts are UTF-8, a forged count ends with the bytes.
    #[test]
    fn forged_fields_do_not_decode() {
        let mut bytes = Vec::new();
        Report::Log { text: "ab" }.write(&mut bytes);
        *bytes.last_mut().unwrap() = 0xff;
        assert_eq!(Report::read(&bytes[PREFIX..]), None);
        let mut forged = vec![kind::OUTPUT_LIMIT];
        forged.extend(0_u64.to_le_bytes());
        forged.extend(u32::MAX.to_le_bytes());
        assert_eq!(Report::read(&forged), None);
        assert_eq!(Report::read(&[]), None);
        assert_eq!(Report::read(&[0]), None);
        assert_eq!(Report::read(&[255; 64]), None);
    }

    proptest::proptest! {
        /// C264, C273: any bytes at all; one of a frame's own kinds in front, so that its fields are reached.
        #[test]
        fn any_bytes_are_decoded_without_fail(
            kind in 0_u8..80,
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let payload = [&[kind], &*bytes].concat();
            let _ = Report::read(&payload);
            let _ = Order::read(&payload);
            let mut inbox = Inbox::new(64);
            inbox.room().extend_from_slice(&payload);
            while let Ok(Some(place)) = inbox.next() {
                let _ = Report::read(inbox.get(place));
            }
        }

        /// A frame with one byte changed is a frame with another content, or none.
        #[test]
        fn a_flipped_byte_is_decoded_without_fail(
            which in 0_usize..11,
            at in 0_usize..200,
            value in proptest::num::u8::ANY,
        ) {
            let mut bytes = Vec::new();
            reports()[which].write(&mut bytes);
            let at = PREFIX + at % (bytes.len() - PREFIX);
            bytes[at] = value;
            let _ = Report::read(&bytes[PREFIX..]);
        }
    }

    #[test]
    fn diagnostics_are_cut() {
        let many = Strays {
            busy_us: 0,
            unawaited: vec!["é".repeat(1000); 1000],
            rejections: Vec::new(),
        };
        let mut bytes = Vec::new();
        Report::OutputLimit { strays: many }.write(&mut bytes);
        let Some(Report::OutputLimit { strays }) = Report::read(&bytes[PREFIX..]) else {
            panic!("decodes");
        };
        assert_eq!(strays.unawaited.len(), LIST_ENTRIES);
        assert_eq!(strays.unawaited[0].len(), LIST_ENTRY_BYTES);
    }

    #[test]
    fn an_inbox_splits_frames_wherever_the_bytes_are_cut() {
        let mut bytes = Vec::new();
        for report in reports() {
            report.write(&mut bytes);
        }
        for step in [1, 3, 7, 1000] {
            let mut inbox = Inbox::new(1 << 10);
            let mut seen = 0;
            for chunk in bytes.chunks(step) {
                inbox.room().extend_from_slice(chunk);
                while let Some(place) = inbox.next().unwrap() {
                    assert_eq!(Report::read(inbox.get(place)).as_ref(), reports().get(seen));
                    seen += 1;
                }
            }
            assert_eq!(seen, reports().len());
        }
    }

    /// C274.
    #[test]
    fn a_length_beyond_the_maximum_is_refused_before_its_bytes_come() {
        let mut inbox = Inbox::new(16);
        inbox.room().extend_from_slice(&17_u32.to_le_bytes());
        assert_eq!(inbox.next(), Err(TooLong { length: 17 }));
        assert!(inbox.bytes.capacity() < 4 * CHUNK);
    }
}
