//! The layers on Linux.

use std::fs;
use std::os::fd::RawFd;

use dsh_code::SandboxLayer;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::layer;
use crate::start::Terms;

/// The native stack that the parser may use; the kernel maps it as it grows.
const STACK_BYTES: u64 = 64 << 20;

pub(super) fn apply(terms: &Terms) -> Vec<SandboxLayer> {
    // A second line: the first is the end of file on the host's socket, which no dying host can forget.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    grow_stack();
    let descriptors = close_others();
    let privileges = set_no_new_privs(true)
        .map(|()| String::new())
        .map_err(|error| error.to_string());
    vec![
        layer("descriptors", descriptors),
        layer("no-new-privs", privileges),
        layer("landlock", landlock()),
        layer("rlimits", rlimits(terms)),
        // Last, since it forbids what the others need.
        layer("seccomp", seccomp()),
    ]
}

fn grow_stack() {
    let now = getrlimit(Resource::Stack);
    let wanted = now
        .maximum
        .map_or(STACK_BYTES, |hard| hard.min(STACK_BYTES));
    if now.current.is_some_and(|soft| soft < wanted) {
        let _ = setrlimit(
            Resource::Stack,
            Rlimit {
                current: Some(wanted),
                maximum: now.maximum,
            },
        );
    }
}

/// Closes every descriptor but the channel and the two that lead nowhere.
fn close_others() -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot list descriptors: {error}");
    let mut others: Vec<RawFd> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        others.extend(number.filter(|number: &RawFd| *number > 2));
    }
    for number in others {
        // SAFETY: this runs before the worker has opened anything, so no value of this process owns these descriptors:
        // they were inherited, or belong to the listing above, which has ended (closing it twice is the error that the
        // call ignores).
        #[expect(unsafe_code, reason = "an inherited descriptor has no owner to drop")]
        unsafe {
            libc::close(number);
        };
    }
    Ok(String::new())
}

/// No file, no socket, no other process.
pub(super) fn landlock() -> Result<String, String> {
    let abi = ABI::V6;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok("files, network, signals".to_owned()),
        RulesetStatus::PartiallyEnforced => Ok("files; the kernel is too old for more".to_owned()),
        RulesetStatus::NotEnforced => Err("the kernel does not support it".to_owned()),
    }
}

fn rlimits(terms: &Terms) -> Result<String, String> {
    // Time has a signal of its own at the lower limit, by which the host knows it.
    let limits = [
        (Resource::As, terms.address_bytes, terms.address_bytes),
        (
            Resource::Cpu,
            terms.cpu_seconds,
            terms.cpu_seconds.saturating_add(1),
        ),
        (Resource::Nofile, 3, 3),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
        (Resource::Nproc, 0, 0),
    ];
    for (resource, soft, hard) in limits {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit {
            current: Some(soft.min(most)),
            maximum: Some(hard.min(most)),
        };
        setrlimit(resource, limit).map_err(|error| format!("{resource:?}: {error}"))?;
    }
    Ok(format!(
        "{} MiB of address space, {} s of processor time",
        terms.address_bytes >> 20,
        terms.cpu_seconds
    ))
}

/// What an engine without files, threads and network needs of the kernel.
pub(super) const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    // To the one socket there is. Passing descriptors would take `sendmsg`.
    libc::SYS_sendto,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Allowed as long as nothing becomes executable.
pub(super) const ALLOWED_DATA: &[libc::c_long] = &[libc::SYS_mmap, libc::SYS_mprotect];

pub(super) fn seccomp() -> Result<String, String> {
    let program = filter().map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    Ok(format!("{} calls", ALLOWED.len() + ALLOWED_DATA.len()))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let data_only = || {
        let condition = SeccompCondition::new(
            2,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(executable),
            0,
        )?;
        SeccompRule::new(vec![condition])
    };
    let mut rules = Vec::new();
    for call in ALLOWED {
        rules.push((*call, Vec::new()));
    }
    for call in ALLOWED_DATA {
        rules.push((*call, vec![data_only()?]));
    }
    // An error instead of a kill: a denied call of the C library (a lookup of the time zone, say) is no attack.
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(
        rules.into_iter().collect(),
        refused,
        SeccompAction::Allow,
        arch,
    )?
    .try_into()
}
