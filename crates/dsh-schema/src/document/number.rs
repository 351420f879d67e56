//! Numbers: exact integers, other finite doubles, their order and their spelling.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use super::node::{Node, Tag};

/// A number: exact when integral and in range.
///
/// Two numbers compare by their exact values, whatever their representation: `Int(1)` equals `Float(1.0)`, and
/// `Int(9007199254740993)` is greater than `Float(9007199254740992.0)`.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Any integer that fits.
    Int(i64),
    /// Above `i64::MAX` only.
    UInt(u64),
    /// Finite, never negative zero.
    Float(f64),
}

/// 2^63 and 2^64, the first doubles outside of `i64` and `u64`.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

impl Number {
    /// Whether the value is integral, in range or not.
    #[must_use]
    pub fn is_integer(self) -> bool {
        match self {
            Self::Int(_) | Self::UInt(_) => true,
            Self::Float(value) => value.fract() == 0.0,
        }
    }

    /// The value as a double, rounded to the nearest one if it is an integer beyond 2^53.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::UInt(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The exact value as an `i64`, if it has one.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// The exact value as a `u64`, if it has one.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// The exact value if it is integral and in the range of `i64` or `u64`.
    fn as_i128(self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(value.into()),
            Self::UInt(value) => Some(value.into()),
            Self::Float(value) => match integer_of(value)? {
                Self::Int(value) => Some(value.into()),
                Self::UInt(value) => Some(value.into()),
                Self::Float(_) => None,
            },
        }
    }

    #[inline]
    pub(super) fn of_node(node: Node) -> Option<Self> {
        match node.tag {
            Tag::Int => Some(Self::Int(node.word.cast_signed())),
            Tag::UInt => Some(Self::UInt(node.word)),
            Tag::Float => Some(Self::Float(f64::from_bits(node.word))),
            _ => None,
        }
    }

    pub(super) fn of_unsigned(value: u64) -> Self {
        i64::try_from(value).map_or(Self::UInt(value), Self::Int)
    }

    pub(super) fn to_node(self) -> Node {
        match self {
            Self::Int(value) => Node::int(value),
            Self::UInt(value) => Node::unsigned(value),
            Self::Float(value) => Node::float(value),
        }
    }

    /// A finite double that is not negative zero, as an integer if it is one.
    pub(super) fn of_double(value: f64) -> Self {
        integer_of(value).unwrap_or(Self::Float(value))
    }

    /// Appends the number in a spelling that parses to it again; whether that is ECMAScript's.
    ///
    /// ECMAScript prints doubles from 2^64 up to 10^21 like integers, and as such they would be refused.
    pub(super) fn write_parseable(self, out: &mut String) -> bool {
        let start = out.len();
        self.write(out);
        if let Self::Float(value) = self
            && value.abs() >= TWO_63
            && value.abs() < 1e21
        {
            out.truncate(start);
            // Writing into a string does not fail.
            let _ = write!(out, "{value:e}");
            return false;
        }
        true
    }

    /// Appends the number as ECMAScript prints it.
    pub(super) fn write(self, out: &mut String) {
        match self {
            Self::Int(value) => out.push_str(itoa::Buffer::new().format(value)),
            Self::UInt(value) => out.push_str(itoa::Buffer::new().format(value)),
            Self::Float(value) => out.push_str(ryu_js::Buffer::new().format(value)),
        }
    }
}

/// The double as an integer, if it is one in the range of `i64` or `u64`.
fn integer_of(value: f64) -> Option<Number> {
    if value.fract() != 0.0 || !(-TWO_63..TWO_64).contains(&value) {
        None
    } else if value < TWO_63 {
        Some(Number::Int(value as i64))
    } else {
        Some(Number::UInt(value as u64))
    }
}

/// Compares an integer with a finite double, exactly.
fn compare_to_double(integer: i128, double: f64) -> Ordering {
    // Saturates, which keeps the order: every integer compared is far inside.
    let whole = double.trunc() as i128;
    integer.cmp(&whole).then_with(|| {
        let rest = double.fract();
        if rest > 0.0 {
            Ordering::Less
        } else if rest < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    })
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (*self, *other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(&b)),
            (Self::Int(a), Self::UInt(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (Self::UInt(a), Self::Int(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => Some(compare_to_double(a.into(), b)),
            (Self::UInt(a), Self::Float(b)) => Some(compare_to_double(a.into(), b)),
            (Self::Float(a), Self::Int(b)) => Some(compare_to_double(b.into(), a).reverse()),
            (Self::Float(a), Self::UInt(b)) => Some(compare_to_double(b.into(), a).reverse()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value) => f.pad(ryu_js::Buffer::new().format(*value)),
        }
    }
}

/// What a decimal literal (one with a fraction or an exponent) stands for.
pub(super) enum Decimal {
    Number(Number),
    NegativeZero,
    Overflow,
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The parts of a well-formed decimal literal.
pub(super) struct Literal<'t> {
    pub(super) text: &'t str,
    pub(super) is_negative: bool,
    /// The digits before the point.
    pub(super) whole: &'t [u8],
    /// The digits after the point.
    pub(super) fraction: &'t [u8],
    /// All digits as one integer, unless there are more than [`Literal::SHORT`].
    pub(super) digits: u64,
    pub(super) exponent: i64,
}

impl Literal<'_> {
    /// So many digits always fit in a `u64`.
    pub(super) const SHORT: usize = 19;

    /// What the literal stands for.
    ///
    /// Whether it is an integer is decided on the decimal value first, so `9007199254740993.0` stays exact. A decimal that
    /// only rounds to an integer is that integer, so that a value has one representation.
    pub(super) fn evaluate(&self) -> Decimal {
        let Some((mantissa, power)) = self.normalised() else {
            return if self.is_negative {
                Decimal::NegativeZero
            } else {
                Decimal::Number(Number::Int(0))
            };
        };
        if let Some(mantissa) = mantissa {
            let factor = u32::try_from(power)
                .ok()
                .and_then(|power| 10_u64.checked_pow(power));
            if let Some(magnitude) = factor.and_then(|factor| mantissa.checked_mul(factor)) {
                let integer = if self.is_negative {
                    0_i64.checked_sub_unsigned(magnitude).map(Number::Int)
                } else {
                    Some(Number::of_unsigned(magnitude))
                };
                if let Some(integer) = integer {
                    return Decimal::Number(integer);
                }
            }
            // Both operands are exact, so the one operation rounds correctly.
            if mantissa <= 1 << 53
                && let Some(factor) = POWERS.get(power.unsigned_abs() as usize)
            {
                let mantissa = mantissa as f64;
                let value = if power < 0 {
                    mantissa / factor
                } else {
                    mantissa * factor
                };
                return Decimal::Number(Number::of_double(if self.is_negative {
                    -value
                } else {
                    value
                }));
            }
        }
        match self.text.parse::<f64>() {
            Ok(value) if value.is_infinite() => Decimal::Overflow,
            Ok(value) if value == 0.0 && value.is_sign_negative() => Decimal::NegativeZero,
            Ok(value) => Decimal::Number(Number::of_double(value)),
            // Not reached: every JSON number is a number for the standard library.
            Err(_) => Decimal::Overflow,
        }
    }

    /// The magnitude as an integer times a power of ten. The integer, `None` when it does not fit, ends in another digit than
    /// zero unless the power is positive. `None` for zero.
    fn normalised(&self) -> Option<(Option<u64>, i64)> {
        let power = self.exponent.saturating_sub(self.fraction.len() as i64);
        if self.whole.len() + self.fraction.len() <= Self::SHORT {
            let (mut mantissa, mut power) = (self.digits, power);
            if mantissa == 0 {
                return None;
            }
            while power < 0 && mantissa.is_multiple_of(10) {
                mantissa /= 10;
                power += 1;
            }
            return Some((Some(mantissa), power));
        }
        let digits = self.whole.iter().chain(self.fraction);
        let is_significant = |digit: &u8| *digit != b'0';
        let leading = digits.clone().position(is_significant)?;
        let trailing = digits.clone().rev().position(is_significant)?;
        let significant = self.whole.len() + self.fraction.len() - leading - trailing;
        let mantissa = digits
            .skip(leading)
            .take(significant)
            .try_fold(0_u64, |value, digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
            });
        Some((mantissa, power.saturating_add(trailing as i64)))
    }
}
