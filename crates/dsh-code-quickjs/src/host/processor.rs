//! The processor time of another process, the part of the compute budget that needs no cooperation (C226, C256).

use std::time::Duration;

/// Processor time that a process has used; `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn used(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let ticks = ticks(&stat)?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_millis(
        ticks.saturating_mul(1000) / per_second,
    ))
}

/// Processor time that a process has used; `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn used(_process: u32) -> Option<Duration> {
    None
}

/// User and system time: fields 14 and 15. The name in field 2 may hold anything, so counting starts after it.
#[cfg(target_os = "linux")]
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_moves_no_field() {
        let stat = "7 (a b) 1) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks(""), None);
        assert_eq!(ticks("7 (x) S 1"), None);
    }

    #[test]
    fn our_own_time_is_known() {
        assert!(used(std::process::id()).is_some());
        assert_eq!(used(u32::MAX), None);
    }
}
