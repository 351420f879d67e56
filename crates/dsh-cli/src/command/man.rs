//! `dsh man`: one page with every command in it.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Dsh;
use crate::exit::{Exit, Failure};
use crate::output;

const TAIL: &str = r#".SH "EXIT STATUS"
.IP 0 5
It worked.
.IP 1 5
The call failed, a line of input was in error, or the result could not be written.
.IP 2 5
The command line or the configuration is wrong.
.IP 130 5
Ctrl\-C was pressed. The first press cancels a call that is under way; the next one ends the process at once.
.SH ENVIRONMENT
.IP RUST_LOG 5
What is logged on stderr, such as \fBdebug\fR or \fBdsh_tools=trace\fR. Wins over \fB\-v\fR.
.IP NO_COLOR 5
If set and not empty, nothing is coloured unless \fB\-\-color always\fR says so.
"#;

pub(crate) fn run() -> Result<Exit, Failure> {
    let page =
        page().map_err(|error| Failure::failed(format!("cannot make the manual page: {error}")))?;
    output::line(&page)?;
    Ok(Exit::Success)
}

fn page() -> io::Result<String> {
    let mut dsh = Dsh::command();
    dsh.build();
    // The exit status has a section of its own.
    let man = Man::new(dsh.clone().after_help(None::<&str>)).title("DSH");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut page = text(page);
    page.push_str(".SH COMMANDS\n");
    for command in dsh.get_subcommands() {
        describe(command, &mut page)?;
    }
    page.push_str(TAIL);
    Ok(ascii(&with_one_preamble(&page)))
}

/// The page without characters that some formatters cannot read.
fn ascii(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for c in page.chars() {
        if c.is_ascii() {
            out.push(c)
        } else {
            out.push_str(&format!("\\[u{:04X}]", u32::from(c)))
        }
    }
    out
}

/// Every section that is rendered alone brings the definitions that a page needs once.
fn with_one_preamble(page: &str) -> String {
    let is_preamble = |line: &str| line.starts_with(".ie ") || line.starts_with(".el ");
    let first = page.lines().take_while(|line| is_preamble(line));
    let rest = page.lines().filter(|line| !is_preamble(line));
    first.chain(rest).flat_map(|line| [line, "\n"]).collect()
}

/// Writes down a command, or the commands that it is made of.
fn describe(command: &Command, page: &mut String) -> io::Result<()> {
    if command.get_name() == "help" {
        return Ok(());
    }
    if command.has_subcommands() {
        return command
            .get_subcommands()
            .try_for_each(|command| describe(command, page));
    }
    // What holds for every command is said once.
    let own = command.clone().mut_args(|arg| {
        let shown_once = arg.is_global_set() || arg.get_id() == "help";
        arg.hide(shown_once)
    });
    let man = Man::new(own);
    let mut part = Vec::new();
    man.render_synopsis_section(&mut part)?;
    man.render_description_section(&mut part)?;
    man.render_options_section(&mut part)?;
    let title = command.get_bin_name().unwrap_or(command.get_name());
    page.push_str(&format!(".SS \"{title}\"\n"));
    page.push_str(&without_headings(&text(part)));
    if let Some(after) = command.get_after_help() {
        // No filling, so that examples keep their lines.
        page.push_str(".PP\n.nf\n");
        for line in after.to_string().lines() {
            page.push_str(&verbatim(line));
            page.push('\n');
        }
        page.push_str(".fi\n");
    }
    Ok(())
}

/// A section of a command is a paragraph of the page.
fn without_headings(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for line in part.lines() {
        out.push_str(if line.starts_with(".SH ") {
            ".PP"
        } else {
            line
        });
        out.push('\n');
    }
    out
}

/// A line of roff that reads as it is written.
fn verbatim(line: &str) -> String {
    let line = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_part() {
        let page = page().unwrap();
        for command in [
            "call",
            "tools",
            "schema check",
            "schema validate",
            "schema ts",
            "completions",
            "man",
            "doctor",
        ] {
            assert!(
                page.contains(&format!("\n.SS \"dsh {command}\"\n")),
                "{command}"
            );
        }
        assert!(!page.contains("dsh help"), "{page}");
        // The page has one preamble, and global options once.
        assert_eq!(
            (page.matches(".TH ").count(), page.matches(".ie ").count()),
            (1, 1)
        );
        assert_eq!(page.matches("RUST_LOG wins").count(), 1);
        assert!(page.is_ascii() && page.contains("\\[u2026]"), "{page}");
    }

    #[test]
    fn roff_takes_text_as_text() {
        assert_eq!(verbatim(".a-b\\'"), "\\&.a\\-b\\e\\(aq");
    }
}
