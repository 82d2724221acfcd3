//! The terminal: how wide it is, and whether it has colours.

use std::fmt::Display;
use std::io::{self, Write as _};

use console::Term;

use crate::text::wrap;

/// Wider lines are hard to read.
const WIDEST: usize = 120;
/// The width without a terminal.
const USUAL: usize = 100;
/// The lines that continue another one begin after as many columns.
const INDENT: usize = 4;

/// The screen that pages are laid out for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns.
    pub(crate) width: usize,
    /// The number of lines; `None` without a terminal.
    pub(crate) height: Option<usize>,
    pub(crate) color: bool,
    /// `true` if standard error has colours.
    pub(crate) colors_problems: bool,
    /// `true` if standard error is a terminal.
    pub(crate) shows_problems: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// The emphasis of a text.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Bold,
    Dim,
    Good,
    Warning,
    Bad,
}

impl Screen {
    /// The terminal that standard output is; else `COLUMNS`, or 100 columns.
    pub(crate) fn of_output(color: Color) -> Self {
        let terminal = Term::stdout();
        let is_terminal = terminal.is_term();
        let size = is_terminal.then(|| terminal.size_checked()).flatten();
        let asked = size.map(|(_, columns)| usize::from(columns));
        let columns = || {
            std::env::var("COLUMNS")
                .ok()
                .and_then(|columns| columns.parse().ok())
        };
        let width = asked
            .or_else(columns)
            .filter(|columns| *columns > 0)
            .unwrap_or(USUAL);
        // Consoles of Windows show colours only after a request, which this makes; old ones show none.
        let has_colors = !cfg!(windows) || terminal.features().colors_supported();
        let has_colors = |is_terminal| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                is_terminal
                    && has_colors
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        let color = has_colors(is_terminal);
        let colors_problems = has_colors(Term::stderr().is_term());
        /// The height of a terminal that does not report it.
        const USUAL_HEIGHT: usize = 24;
        let height =
            is_terminal.then(|| size.map_or(USUAL_HEIGHT, |(lines, _)| usize::from(lines)));
        Self {
            width: width.clamp(20, WIDEST),
            height,
            color,
            colors_problems,
            shows_problems: Term::stderr().is_term(),
        }
    }

    /// Returns `true` if standard output is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.height.is_some()
    }

    /// The text in a style, if there are colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            _ if !self.color => return text.to_owned(),
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Bad => 31,
            Style::Good => 32,
            Style::Warning => 33,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A line of results as lines that fit the terminal. In files and pipes it stays one line, for programs that read lines.
    pub(crate) fn fit(self, line: &str) -> Vec<String> {
        if self.is_terminal() {
            wrap(line, self.width, INDENT)
        } else {
            vec![line.to_owned()]
        }
    }

    /// A text about a problem, for standard error. On a terminal it has lines that fit.
    pub(crate) fn problem(self, text: &str) -> String {
        let screen = Self {
            color: self.colors_problems,
            ..self
        };
        if !self.shows_problems {
            return screen.paint(Style::Bad, text);
        }
        let mut lines = Vec::new();
        for line in wrap(text, self.width, INDENT) {
            lines.push(screen.paint(Style::Bad, &line));
        }
        lines.join("\n")
    }
}

/// Prints a line on standard error. Where that is full or closed, the exit status has to do.
pub(crate) fn print_stderr(line: impl Display) {
    drop(writeln!(io::stderr(), "{line}"));
}
