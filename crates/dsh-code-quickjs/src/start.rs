//! What a worker is started with: the marker that makes a process one, and the terms of its resource limits.

use dsh_code::Limits;

/// The first argument of a worker. No command of a host looks like it.
pub(crate) const MARKER: &str = "--dsh-code-worker-1";

/// Memory beyond the heap cap: the binary, the parser's arena, the native stack, buffers.
const FIXED_BYTES: u64 = 256 << 20;

/// What the kernel holds the worker to, however its program is budgeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The engine's heap cap until the program brings its own.
    pub(crate) memory_bytes: u64,
    /// Bytes of address space.
    pub(crate) address_bytes: u64,
    /// Seconds of processor time.
    pub(crate) cpu_seconds: u64,
}

impl Terms {
    /// The terms that leave room for `limits`: the budgets proper are kept by engine and host.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            address_bytes: limits
                .memory_bytes
                .saturating_add(limits.output_bytes.saturating_mul(3))
                .saturating_add(FIXED_BYTES),
            cpu_seconds: (limits.compute_ms / 1000).saturating_add(2),
        }
    }

    /// Whether a worker on these terms can run a program with `limits`.
    pub(crate) fn cover(&self, limits: &Limits) -> bool {
        let needed = Self::of(limits);
        needed.address_bytes <= self.address_bytes && needed.cpu_seconds <= self.cpu_seconds
    }

    /// The second argument of a worker.
    pub(crate) fn to_argument(self) -> String {
        format!(
            "{},{},{}",
            self.memory_bytes, self.address_bytes, self.cpu_seconds
        )
    }

    pub(crate) fn parse(argument: &str) -> Option<Self> {
        let mut numbers = argument.split(',').map(|number| number.parse().ok());
        let terms = Self {
            memory_bytes: numbers.next()??,
            address_bytes: numbers.next()??,
            cpu_seconds: numbers.next()??,
        };
        numbers.next().is_none().then_some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_survive_the_command_line() {
        let terms = Terms::of(&Limits::default());
        assert_eq!(Terms::parse(&terms.to_argument()), Some(terms));
        for forged in ["", "1,2", "1,2,3,4", "1,2,x", "-1,2,3"] {
            assert_eq!(Terms::parse(forged), None, "{forged}");
        }
    }

    #[test]
    fn a_worker_takes_programs_with_smaller_budgets_only() {
        let limits = Limits::default();
        let terms = Terms::of(&limits);
        assert!(terms.cover(&limits));
        assert!(terms.cover(&Limits {
            compute_ms: 1,
            memory_bytes: 1 << 20,
            ..limits
        }));
        assert!(!terms.cover(&Limits {
            memory_bytes: limits.memory_bytes + 1,
            ..limits
        }));
        assert!(!terms.cover(&Limits {
            compute_ms: limits.compute_ms + 1000,
            ..limits
        }));
    }
}
