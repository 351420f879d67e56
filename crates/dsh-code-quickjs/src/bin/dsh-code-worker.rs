//! The worker as a program of its own, for hosts that do not re-execute themselves.

fn main() {
    dsh_code_quickjs::worker_entry();
    // Not reached by a host: it always passes the marker.
    std::process::exit(dsh_code_quickjs::WORKER_MISUSE);
}
