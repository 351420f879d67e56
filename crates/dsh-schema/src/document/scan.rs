//! Finding the end of a run of plain string bytes.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Bytes looked at one word at a time before the wide scan takes over.
const SHORT: usize = 64;
/// The wide scan's step; a multiple of every vector width.
const WIDE: usize = 64;

/// The index, at or after `from`, of the first byte that cannot stand in a string as it is: a quote, a backslash or a
/// control character. The length of `bytes` when there is none.
///
/// The same set must be escaped on writing.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let mut position = from;
    while let Some(word) = bytes
        .get(position..)
        .and_then(|rest| rest.first_chunk::<8>())
    {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return position + hits.trailing_zeros() as usize / 8;
        }
        position += 8;
        if position - from >= SHORT {
            return wide_plain_end(bytes, position);
        }
    }
    slow_plain_end(bytes, position)
}

/// Marks with its high bit each special byte of a word. Marks above the lowest one may be wrong.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    ((quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash) | control)
        & HIGHS
}

#[inline]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[inline(never)]
fn wide_plain_end(bytes: &[u8], from: usize) -> usize {
    let (chunks, _) = bytes.get(from..).unwrap_or(&[]).as_chunks::<WIDE>();
    let mut position = from;
    for chunk in chunks {
        // No early exit inside a chunk: that is what lets the compiler use vectors.
        let special = chunk
            .iter()
            .fold(false, |special, byte| special | is_special(*byte));
        if special {
            break;
        }
        position += WIDE;
    }
    slow_plain_end(bytes, position)
}

#[inline]
fn slow_plain_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or(&[]);
    rest.iter()
        .position(|byte| is_special(*byte))
        .map_or(bytes.len(), |found| from + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_byte_is_found_at_every_place() {
        for length in 0..200 {
            assert_eq!(plain_end(&vec![b'x'; length], 0), length);
            for at in 0..length {
                for special in [b'"', b'\\', 0, 9, b'\n', 0x1f] {
                    for filler in [b'x', 0x20, 0x21, 0x7f, 0x80, 0xff, 0x5b, 0x5d, 0xa2, 0xdc] {
                        let mut bytes = vec![filler; length];
                        bytes[at] = special;
                        assert_eq!(plain_end(&bytes, 0), at);
                        if at + 1 < length {
                            assert_eq!(plain_end(&bytes, at + 1), length);
                        }
                    }
                }
            }
        }
    }
}
