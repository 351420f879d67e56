//! Resolution that follows links: one step at a time, never leaving the root.
//!
//! Each name is looked up in an open directory without following it. A link is read and its steps
//! are put in front of the rest. A `..` goes back along the names walked so far, so it means the
//! parent of where a link led, as it does for the kernel.
//!
//! Going above the root, or starting from `/` as an absolute link does, is tracked by names alone:
//! as long as they spell the way back down to the root's own canonical path nothing on the disk is
//! consulted, and any other name is outside. The names above the root are therefore never opened.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, openat, readlinkat};
use rustix::io::Errno;

use crate::path::{self, Step};
use crate::root::{self, DIRECTORY, Root};

/// How many links one resolution follows, the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Where a walk ended: a path below the root without a link in it.
///
/// If nothing is there, the part that exists is resolved and the rest is appended (F3). A link that
/// leads nowhere stands for itself then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) relative: PathBuf,
    pub(crate) exists: bool,
}

/// Why a walk ended nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The path leads out of the root.
    Outside,
    /// A step goes through something that is not a directory.
    ThroughFile,
    /// A `..` follows a name that does not exist.
    MissingParent,
    /// The operating system failed.
    Failed(Errno),
}

/// Follows `path` below `root`.
pub(crate) fn walk(root: &Root, path: &Path, shortcut: bool) -> Result<Arrival, Refusal> {
    let mut walk = Walk {
        root,
        shortcut,
        names: Vec::new(),
        current: None,
        above: None,
    };
    let steps = path::steps(path);
    let steps = if path.is_absolute() {
        walk.enter(steps)
    } else {
        steps
    };
    if shortcut && let Some(arrival) = walk.glance(&steps) {
        return Ok(arrival);
    }
    walk.follow(steps)
}

/// A list of steps that is being worked off.
struct Frame {
    steps: std::vec::IntoIter<Step>,
    /// For the steps of a link: the path of the link itself.
    link: PathBuf,
}

struct Walk<'a> {
    root: &'a Root,
    shortcut: bool,
    /// The names walked so far, below the root and without links.
    names: Vec<OsString>,
    /// The directory that `names` leads to; nothing stands for the root.
    current: Option<OwnedFd>,
    /// While the walk is above the root: how many leading names of the root's path it has.
    above: Option<usize>,
}

impl Walk<'_> {
    /// Starts over at the top of the file system; returns the steps that are left.
    fn enter(&mut self, mut steps: Vec<Step>) -> Vec<Step> {
        self.names.clear();
        self.current = None;
        let spelled = &self.root.spelled_names;
        let is_spelled = !spelled.is_empty()
            && steps.len() >= spelled.len()
            && steps.iter().zip(spelled).all(|(step, name)| match step {
                Step::Name(step) => step == name,
                Step::Parent => false,
            });
        self.above = None;
        if is_spelled {
            steps.drain(..spelled.len());
        } else if !self.root.canonical_names.is_empty() {
            self.above = Some(0);
        }
        steps
    }

    /// Asks the kernel for the whole path at once. An answer means that there is no link in it.
    fn glance(&self, steps: &[Step]) -> Option<Arrival> {
        let below = match self.above {
            None => steps,
            Some(depth) => {
                let missing = &self.root.canonical_names[depth..];
                let (lead, below) = steps.split_at_checked(missing.len())?;
                let leads = lead.iter().zip(missing).all(|(step, name)| match step {
                    Step::Name(step) => step == name,
                    Step::Parent => false,
                });
                leads.then_some(below)?
            }
        };
        let mut relative = PathBuf::new();
        for step in below {
            match step {
                Step::Name(name) => relative.push(name),
                Step::Parent => return None,
            }
        }
        if !relative.as_os_str().is_empty() {
            root::lookup(self.root.handle(), &relative, root::NAME_ONLY)?;
        }
        Some(Arrival {
            relative,
            exists: true,
        })
    }

    fn at(&self) -> BorrowedFd<'_> {
        self.current
            .as_ref()
            .map_or(self.root.handle(), AsFd::as_fd)
    }

    fn follow(mut self, steps: Vec<Step>) -> Result<Arrival, Refusal> {
        let mut frames = vec![Frame {
            steps: steps.into_iter(),
            link: PathBuf::new(),
        }];
        let mut links = 0;
        // Set once the walk stands on something that is not a directory.
        let mut on_file = false;
        while let Some(frame) = frames.last_mut() {
            let Some(step) = frame.steps.next() else {
                frames.pop();
                continue;
            };
            if on_file {
                return Err(Refusal::ThroughFile);
            }
            let name = match step {
                Step::Parent => {
                    self.ascend()?;
                    continue;
                }
                Step::Name(name) => name,
            };
            if let Some(depth) = self.above {
                self.above = match self.root.canonical_names.get(depth) {
                    Some(expected) if *expected == name => {
                        (depth + 1 < self.root.canonical_names.len()).then_some(depth + 1)
                    }
                    _ => return Err(Refusal::Outside),
                };
                continue;
            }
            match self.descend(name)? {
                Descent::Directory => {}
                Descent::File => on_file = true,
                Descent::Missing(name) => return self.arrive_nowhere(frames, name),
                Descent::Link(name, target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Refusal::Failed(Errno::LOOP));
                    }
                    let link = self.relative().join(name);
                    let steps = path::steps(&target);
                    let steps = if target.is_absolute() {
                        self.enter(steps)
                    } else {
                        steps
                    };
                    frames.push(Frame {
                        steps: steps.into_iter(),
                        link,
                    });
                }
            }
        }
        if self.above.is_some() {
            return Err(Refusal::Outside);
        }
        Ok(Arrival {
            relative: self.relative(),
            exists: true,
        })
    }

    fn relative(&self) -> PathBuf {
        self.names.iter().collect()
    }

    /// One step up.
    fn ascend(&mut self) -> Result<(), Refusal> {
        if let Some(depth) = self.above {
            self.above = Some(depth.saturating_sub(1));
        } else if self.names.pop().is_some() {
            // Opened anew from the root: a `..` of an open directory would follow it to wherever
            // it was moved in the meantime.
            let parent = self.root.open_directory(&self.relative(), self.shortcut);
            self.current = Some(parent.map_err(Refusal::Failed)?);
        } else if let Some(depth) = self.root.canonical_names.len().checked_sub(1) {
            self.above = Some(depth);
        }
        Ok(())
    }

    /// One step down.
    fn descend(&mut self, name: OsString) -> Result<Descent, Refusal> {
        match openat(self.at(), &name, DIRECTORY, Mode::empty()) {
            Ok(directory) => {
                self.current = Some(directory);
                self.names.push(name);
                Ok(Descent::Directory)
            }
            Err(Errno::NOENT) => Ok(Descent::Missing(name)),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                match readlinkat(self.at(), &name, Vec::new()) {
                    Ok(target) => {
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        Ok(Descent::Link(name, target))
                    }
                    Err(Errno::NOENT) => Ok(Descent::Missing(name)),
                    // Not a link, hence a file.
                    Err(Errno::INVAL) => {
                        self.names.push(name);
                        Ok(Descent::File)
                    }
                    Err(errno) => Err(Refusal::Failed(errno)),
                }
            }
            Err(errno) => Err(Refusal::Failed(errno)),
        }
    }

    /// The path of something that does not exist: of its nearest existing ancestor, resolved, and
    /// the rest as it was spelled. A link that was not walked to its end is no ancestor.
    fn arrive_nowhere(self, frames: Vec<Frame>, missing: OsString) -> Result<Arrival, Refusal> {
        let mut frames = frames.into_iter();
        let spelled = frames.next();
        let mut relative = match frames.next() {
            Some(unfinished) => unfinished.link,
            None => self.relative().join(missing),
        };
        for step in spelled.into_iter().flat_map(|frame| frame.steps) {
            match step {
                Step::Name(name) => relative.push(name),
                Step::Parent => return Err(Refusal::MissingParent),
            }
        }
        Ok(Arrival {
            relative,
            exists: false,
        })
    }
}

enum Descent {
    Directory,
    File,
    Missing(OsString),
    Link(OsString, PathBuf),
}
