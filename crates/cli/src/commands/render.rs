//! `meshmap render`: pictures of files, contact sheets, and pictures on the terminal.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use meshmap::MeshFile;
use meshmap_outputs::{Names, Outputs, Place, names_folder};
use meshmap_render::{Render, Rendered};

use super::outputs::{self, Job, JobResult, Plan, STANDARD_OUTPUT, Written, problem_of};
use super::pictures::{beside, facts, no_mesh, shapes, together};
use super::sheet::{Wanted, sheet};
use super::{
    Outcome, Reporting, bad, making, print_stderr, report, taking_negative_numbers, usage,
};
use crate::blocks::{self, Colors};
use crate::inputs::{self, Choice, Durable, Found, Input};
use crate::screen::Screen;
use crate::{text, words};

/// The arguments of `meshmap render`.
#[derive(clap::Args)]
#[command(mut_arg("every", |argument| argument.value_parser(inputs::parse_from_one)))]
#[command(mut_arg("textures", |argument| argument.value_parser(inputs::folder_parser())))]
#[command(mut_args(taking_negative_numbers))]
#[command(mut_arg("up", |argument| argument.allow_hyphen_values(true)))]
pub(crate) struct RenderArgs {
    /// Files, directories to search, or `-` for standard input.
    #[arg(required_unless_present_any = ["files_from", "schema"])]
    paths: Vec<PathBuf>,
    /// The PNG to write; for several files, the directory. The folder of a file has to exist, and a directory is created; `-` is
    /// standard output [default: the terminal].
    #[arg(short, long, value_name = "PATH", value_parser = inputs::output_parser())]
    output: Option<PathBuf>,
    /// Write into an existing output instead of replacing it, whatever its extension. For file managers, which hold it open.
    #[arg(long, requires = "output", conflicts_with = "motion")]
    thumbnail: bool,
    #[command(flatten)]
    render: Render,
    /// Print a JSON object for each file, one per line, and the summary on standard error.
    #[arg(long, requires = "output")]
    json: bool,
    /// Print the schema of the JSON objects.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    /// Draw pictures in a directory even if they are up to date: made from the same file, with the same options, by this
    /// version.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(crate) durable: Durable,
}

impl RenderArgs {
    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            paths: &self.paths,
            render: &self.render,
            json: self.json,
        }
    }
}

pub(crate) fn run(
    args: &RenderArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let mut found = inputs::find(&args.paths, choice);
    let render = &args.render;
    let is_thumbnail = args.thumbnail;
    let moves = render.animation || render.turntable.is_some();
    let is_one = found.single && found.files.len() == 1;
    let Some(output) = &args.output else {
        let input = found
            .files
            .first()
            .filter(|_| is_one && !render.sheet && !moves);
        return match (input, screen.height) {
            (Some(input), Some(height)) if screen.color => {
                on_terminal(input, render, choice, (screen, height), out)
            }
            (Some(_), Some(_)) => {
                usage("render: colours are off, and pictures need them; -o FILE.png writes one")
            }
            (Some(_), None) => usage(
                "render: standard output is no terminal to show a picture on; -o FILE.png writes one",
            ),
            (None, _) => {
                usage("render: -o says where pictures of several files, sheets and animations go")
            }
        };
    };
    let is_directory = output.is_dir();
    let is_png = output
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    if output.as_os_str() == STANDARD_OUTPUT {
        return to_output(&mut found, args, choice, screen, out);
    }
    // A directory that does not exist is reported as such.
    let is_picture = is_one || render.sheet;
    if is_picture && !is_directory && !is_png && !is_thumbnail && !names_folder(output) {
        return usage(format!(
            "{}: pictures are PNG files, whose names end in .png",
            text::path(output)
        ));
    }
    if is_thumbnail && (!is_one || is_directory) {
        return usage("render: --thumbnail is for one file");
    }
    if !is_one && !render.sheet && is_png && !is_directory {
        return usage(format!(
            "{}: several pictures go to a directory, or to one with --sheet",
            text::path(output)
        ));
    }
    if render.sheet && !is_one {
        if is_directory {
            return usage(format!(
                "{}: a directory; a sheet is one PNG file",
                text::path(output)
            ));
        }
        return sheet(&mut found, output, args.wanted(), choice, screen, out);
    }
    let outputs = Outputs::below(output);
    let jobs = match found.files.as_slice() {
        [input] if is_one && !is_directory => match Place::at(output) {
            Ok(place) => vec![Job {
                input: input.clone(),
                place,
            }],
            Err(error) => return bad(words::writing(&error)),
        },
        _ => outputs::jobs(&args.paths, &mut found, "png", &outputs),
    };
    let (how, render) = together(render, choice, jobs.len() > 1);
    if let Some(why) = outputs::conflict(&found.files, &jobs, &how, |output| Names {
        files: vec![output.to_owned()],
        ..Names::default()
    }) {
        return usage(why);
    }
    let plan = Plan {
        how,
        outputs: (!is_one || is_directory).then_some(&outputs),
        options: identity(&args.render),
        also: Some(Vec::new()),
        force: args.force,
        library: render.library.clone(),
        reporting: Reporting {
            quiet: choice.quiet,
            json: args.json,
        },
        making_bytes: render.picture_bytes(),
    };
    let make = move |file: &MeshFile, job: &Job| make(file, job, &render, is_thumbnail);
    making::all(found, jobs, &plan, choice, screen, make, out)
}

/// Writes one PNG to standard output.
fn to_output(
    found: &mut Found,
    args: &RenderArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    if args.json {
        return usage(
            "standard output takes the picture or the JSON objects: --json needs another output",
        );
    }
    if args.thumbnail {
        return usage("render: --thumbnail is for a file that exists");
    }
    if let ([input], true) = (found.files.as_slice(), found.single) {
        let (how, render) = together(&args.render, choice, false);
        let make = |file: &MeshFile, job: &Job| make(file, job, &render, false);
        return outputs::to_standard_output(input, &how, "png", make, choice, screen, out);
    }
    if !args.render.sheet {
        return usage("standard output takes one picture: one file, or --sheet");
    }
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("sheet.png");
    let mut lines = Vec::new();
    let outcome = sheet(found, &output, args.wanted(), choice, screen, &mut lines)?;
    let lines = String::from_utf8_lossy(&lines).replace(&text::path(&output), "(standard output)");
    if !lines.is_empty() {
        print_stderr(lines.trim_end());
    }
    if output.exists() {
        io::copy(&mut File::open(&output)?, out)?;
    }
    Ok(outcome)
}

/// Draws one file on the terminal.
fn on_terminal(
    input: &Input,
    render: &Render,
    choice: &Choice,
    (screen, height): (Screen, usize),
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let how = choice.reading(outputs::SHARES, false);
    // Two pixels above each other are one letter; two lines are for what follows.
    let side = screen
        .width
        .min(height.saturating_sub(2).saturating_mul(2))
        .max(16);
    let side = u32::try_from(side).unwrap_or(16);
    let [width, height] = render.size.unwrap_or([side, side]);
    let render = Render {
        size: Some([width.min(side), height.min(side)]),
        refuses_without_effect: true,
        ..render.clone()
    };
    let drawn = input.read(&how).and_then(|file| {
        let file = file.ok_or_else(no_mesh)?;
        beside(&render, input).picture(&file).map_err(problem_of)
    });
    match drawn {
        Ok((picture, rendered)) => {
            out.write_all(blocks::lines(&picture, Colors::of_terminal()).as_bytes())?;
            writeln!(out, "{}", about(&rendered))?;
            out.flush()?;
            for line in report::warnings::<Render>(&rendered.report) {
                print_stderr(format_args!("{}: {}", input.shown(), line.text()));
            }
            Ok(Outcome::Good)
        }
        Err(why) => bad(screen.problem(&format!("{}: {why}", input.shown()))),
    }
}

/// Describes a picture: the moment, the triangles, the size, and the number of pictures.
fn about(rendered: &Rendered) -> String {
    let [width, height] = rendered.size;
    let pictures = match rendered.pictures {
        0 | 1 => String::new(),
        count => format!(", {}", text::plural(count, "picture")),
    };
    let moment = if rendered.moment.is_empty() {
        String::new()
    } else {
        text::line(&rendered.moment) + "   "
    };
    let textures = match rendered.textures.found().count() {
        0 => String::new(),
        count => format!(", {}", text::plural(count as u64, "texture")),
    };
    format!(
        "{width} x {height}{pictures}   {moment}{}{textures}",
        shapes(rendered)
    )
}

/// The options that decide about the content of pictures.
fn identity(render: &Render) -> String {
    let whole = Render {
        textures: outputs::absolute(&render.textures),
        ..render.clone()
    };
    whole.identity()
}

fn make(file: &MeshFile, job: &Job, render: &Render, is_thumbnail: bool) -> JobResult {
    let render = &beside(render, &job.input);
    let rendered = if is_thumbnail {
        thumbnail(file, &job.place, render)
    } else {
        render.write(file, &job.place)
    };
    match rendered {
        Ok(rendered) => JobResult::Written(Box::new(Written {
            about: about(&rendered),
            details: report::details::<Render>(&rendered.report),
            notes: report::warnings::<Render>(&rendered.report),
            facts: facts(&rendered),
            textures: rendered.textures,
            files: rendered.file.into_iter().collect(),
            ..Written::default()
        })),
        Err(error) => JobResult::of(error),
    }
}

/// Writes a picture into a file that another program may hold open.
fn thumbnail(file: &MeshFile, place: &Place, render: &Render) -> meshmap_export::Result<Rendered> {
    place.prepare_overwrite()?;
    let (picture, rendered) = render.picture(file)?;
    let mut png = Vec::new();
    picture.write_png(&mut png)?;
    place.overwrite(&png)?;
    Ok(rendered)
}
