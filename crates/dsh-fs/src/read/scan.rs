//! Reading one file from start to end.

use dsh_workspace::{FsError, FsErrorCode, Interrupt, Target, Version, Workspace};

use super::gate::{Gate, NotText};
use super::window::{Window, WindowLimits, Windower};

/// How much is read at once, and how often the interrupt is asked.
const CHUNK: usize = 64 * 1024;

/// Reads a window of a text file, and the version of the file that it was read from.
///
/// The whole file is read: its number of lines is exact, and text that is not UTF-8 is refused
/// wherever it stands. Memory stays within the limits.
///
/// # Errors
///
/// Those of [`Workspace::open_file`]; `FS_NOT_TEXT` for a NUL in the first 8192 bytes and for
/// anything but UTF-8; `FS_NOT_FOUND` if the file has fewer lines than `offset`, except for offset 1
/// of an empty file (F68).
///
/// # Cancellation
///
/// Asks `interrupt` before every 64 KiB and fails with `FS_ABORTED`.
pub fn read_window(
    workspace: &Workspace,
    target: &Target,
    limits: &WindowLimits,
    interrupt: Interrupt<'_>,
) -> Result<(Window, Version), FsError> {
    let mut file = workspace.open_file(target, interrupt)?;
    let version = file.metadata().version();
    let display = target.display();
    let not_text = |fault: NotText| {
        let text = format!("cannot read \"{display}\": {}", fault.text());
        FsError::new(FsErrorCode::NotText, text)
    };
    let mut gate = Gate::default();
    let mut windower = Windower::new(*limits);
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = file.read_chunk(&mut buffer, interrupt)?;
        if count == 0 {
            break;
        }
        let passed = gate.pass(&buffer[..count]).map_err(not_text)?;
        windower.push(passed.held);
        windower.push(passed.own);
    }
    gate.finish().map_err(not_text)?;
    let window = windower.finish();
    if limits.offset > window.total_lines.max(1) {
        let (offset, total) = (limits.offset, window.total_lines);
        let text = format!("offset {offset} is out of range for \"{display}\" ({total} lines)");
        return Err(FsError::new(FsErrorCode::NotFound, text));
    }
    Ok((window, version))
}
