//! Whether a stream of bytes is text (F11, F12).

/// How many bytes at the start are searched for a NUL.
const PROBE: usize = 8192;

/// The byte-order mark in UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotText {
    /// A NUL in the first 8192 bytes.
    Binary,
    /// Not UTF-8.
    Invalid,
}

impl NotText {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Binary => "binary file",
            Self::Invalid => "invalid UTF-8 text",
        }
    }
}

/// Examines a stream chunk by chunk.
///
/// A leading byte-order mark is hidden from the reader: models would see it as a stray character of
/// the first line, and editing keeps it anyway (D20), so nothing is lost by not showing it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Bytes of the probe already looked at.
    probed: usize,
    /// How much of the mark was at the start; nothing once it is decided.
    mark: Mark,
    /// The bytes of a character whose end has not come yet.
    partial: [u8; 4],
    partial_len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// So many of its bytes were seen and nothing else.
    Maybe(usize),
    Decided,
}

impl Default for Mark {
    fn default() -> Self {
        Self::Maybe(0)
    }
}

/// A chunk that passed: first some bytes held back from earlier chunks, then its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passed<'a> {
    pub(super) held: &'static [u8],
    pub(super) own: &'a [u8],
}

impl Gate {
    /// Examines the next chunk and says what of it the reader sees.
    pub(super) fn pass<'a>(&mut self, chunk: &'a [u8]) -> Result<Passed<'a>, NotText> {
        let probe = &chunk[..chunk.len().min(PROBE - self.probed)];
        if memchr::memchr(0, probe).is_some() {
            return Err(NotText::Binary);
        }
        self.probed += probe.len();
        self.validate(chunk)?;
        let Mark::Maybe(seen) = self.mark else {
            return Ok(Passed {
                held: &[],
                own: chunk,
            });
        };
        let rest = &MARK[seen..];
        let same = chunk
            .iter()
            .zip(rest)
            .take_while(|(byte, mark)| byte == mark)
            .count();
        if same == rest.len() {
            self.mark = Mark::Decided;
            Ok(Passed {
                held: &[],
                own: &chunk[same..],
            })
        } else if same == chunk.len() {
            self.mark = Mark::Maybe(seen + same);
            Ok(Passed {
                held: &[],
                own: &[],
            })
        } else {
            self.mark = Mark::Decided;
            Ok(Passed {
                held: &MARK[..seen],
                own: chunk,
            })
        }
    }

    /// The end of the stream.
    pub(super) fn finish(&self) -> Result<(), NotText> {
        // A mark that was cut short is a character that was cut short.
        if self.partial_len == 0 {
            Ok(())
        } else {
            Err(NotText::Invalid)
        }
    }

    fn validate(&mut self, mut chunk: &[u8]) -> Result<(), NotText> {
        while self.partial_len > 0 {
            let Some((&byte, rest)) = chunk.split_first() else {
                return Ok(());
            };
            chunk = rest;
            self.partial[self.partial_len] = byte;
            self.partial_len += 1;
            match std::str::from_utf8(&self.partial[..self.partial_len]) {
                Ok(_) => self.partial_len = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(NotText::Invalid),
            }
        }
        match std::str::from_utf8(chunk) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_none() => {
                let partial = &chunk[error.valid_up_to()..];
                self.partial[..partial.len()].copy_from_slice(partial);
                self.partial_len = partial.len();
                Ok(())
            }
            Err(_) => Err(NotText::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the reader sees of `bytes` cut into chunks of `size`.
    fn seen(bytes: &[u8], size: usize) -> Result<Vec<u8>, NotText> {
        let mut gate = Gate::default();
        let mut seen = Vec::new();
        for chunk in bytes.chunks(size) {
            let passed = gate.pass(chunk)?;
            seen.extend_from_slice(passed.held);
            seen.extend_from_slice(passed.own);
        }
        gate.finish().map(|()| seen)
    }

    #[test]
    fn f11_a_nul_counts_in_the_first_8192_bytes_only() {
        for size in [1, 7, 8191, 8192, 8193, 65536] {
            let mut bytes = vec![b'a'; 20000];
            bytes[8192] = 0;
            assert_eq!(seen(&bytes, size).unwrap(), bytes, "{size}");
            bytes[8191] = 0;
            assert_eq!(seen(&bytes, size), Err(NotText::Binary), "{size}");
        }
        assert_eq!(seen(b"\0", 1), Err(NotText::Binary));
        // Binary is said first even if the text is invalid as well.
        assert_eq!(seen(b"\xff\0", 2), Err(NotText::Binary));
    }

    #[test]
    fn f12_invalid_text_is_refused_wherever_it_stands() {
        for bytes in [
            &b"abc\xff"[..],
            b"\x80",
            b"\xc3",
            b"\xe2\x82",
            b"\xf0\x9f\x98",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"\xf4\x90\x80\x80",
            b"caf\xe9 au lait\n",
            b"\xef\xbb",
            b"\xef\xbbx",
        ] {
            for size in 1..=bytes.len() {
                assert_eq!(seen(bytes, size), Err(NotText::Invalid), "{bytes:x?}");
            }
        }
    }

    #[test]
    fn utf_16_is_not_text() {
        assert_eq!(seen(b"\xff\xfeh\0i\0", 64), Err(NotText::Binary));
        assert_eq!(seen(b"\xfe\xff\x4e\x2d\x65\x87", 64), Err(NotText::Invalid));
    }

    #[test]
    fn f12_one_leading_mark_is_hidden() {
        for size in 1..8 {
            assert_eq!(seen("\u{feff}ab".as_bytes(), size).unwrap(), b"ab");
            assert_eq!(seen("\u{feff}".as_bytes(), size).unwrap(), b"");
            let second = "\u{feff}\u{feff}a".as_bytes();
            assert_eq!(seen(second, size).unwrap(), &second[3..]);
            let later = "a\u{feff}".as_bytes();
            assert_eq!(seen(later, size).unwrap(), later);
            // Begins like the mark.
            let similar = "\u{fefe}".as_bytes();
            assert_eq!(seen(similar, size).unwrap(), similar);
        }
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..6),
                    any::<String>().prop_map(String::into_bytes),
                    Just(MARK.to_vec()),
                ],
                0..6,
            ),
            size in 1..40_usize,
        ) {
            let bytes = parts.concat();
            let wanted = if bytes.contains(&0) {
                Err(NotText::Binary)
            } else if std::str::from_utf8(&bytes).is_err() {
                Err(NotText::Invalid)
            } else {
                Ok(bytes.strip_prefix(MARK).unwrap_or(&bytes).to_vec())
            };
            let got = seen(&bytes, size);
            // Cut up, the first fault decides; whole, a NUL does.
            if wanted.is_ok() || got.is_ok() {
                prop_assert_eq!(got, wanted);
            }
        }
    }
}
