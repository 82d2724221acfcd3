//! The page of rules, which is made from the rules themselves, and the rules on the pages of formats.

use std::fmt::Write as _;
use std::{env, fs};

use meshmap::{Format, Rule};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md");

fn page() -> String {
    let mut page = String::from(
        "# Rules\n\n\
         Every file is checked against the rules of its format. Each rule has an identifier, which never changes, and a severity:\n\n\
         | severity | meaning | `meshmap verify` |\n|---|---|---|\n\
         | note | legal and harmless, but worth knowing | passes |\n\
         | suspicious | legal, and usually a sign of a mistake | passes; fails with `--fail-on suspicious` |\n\
         | forbidden | the specification forbids it, and it is read nevertheless | passes; fails with `--fail-on forbidden` |\n\
         | unusable | the data cannot be used; other parts of the file can | fails |\n\n\
         `--allow RULE` allows a rule to be broken. In Rust, `Format::rules` lists the rules, and `MeshFile::validate` returns the findings.\n",
    );
    for format in Format::ALL {
        let _ = write!(
            page,
            "\n## {format}\n\n| rule | severity | what is wrong, and how it is read |\n|---|---|---|\n"
        );
        for Rule {
            id,
            severity,
            cause,
            writers,
            ..
        } in format.rules()
        {
            let cause = cause
                .replace('|', "\\|")
                .replace("[`", "`")
                .replace("`]", "`");
            let writers = writers
                .map(|writers| format!(" Written by {writers}."))
                .unwrap_or_default();
            let _ = writeln!(page, "| `{id}` | {severity} | {}{writers} |", cause.trim());
        }
    }
    page
}

#[test]
fn the_page_has_every_rule() {
    let page = page();
    if env::var_os("MESHMAP_ACCEPT").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let stored = fs::read_to_string(PAGE)
        .unwrap_or_default()
        .replace('\r', "");
    assert!(
        stored == page,
        "docs/rules.md is not what the rules say: run this with MESHMAP_ACCEPT=1"
    );
}

#[test]
fn the_page_of_a_format_names_its_rules() {
    for format in Format::ALL {
        let page = fs::read_to_string(format!("{DOCS}/formats/{format}.md")).unwrap();
        let link = format!("`](../rules.md#{format})");
        let named: Vec<&str> = page
            .split(&link)
            .filter_map(|before| Some(before.rsplit_once("[`")?.1))
            .filter(|name| !name.contains('\n'))
            .collect();
        assert!(
            named.len() >= 3 && page.matches("rules.md").count() == named.len(),
            "{format}: {named:?}"
        );
        for name in &named {
            assert!(
                format.rules().iter().any(|rule| rule.id == *name),
                "{format} has no rule {name}"
            );
        }
        for rule in format.rules().iter().filter(|rule| rule.writers.is_some()) {
            assert!(
                named.contains(&rule.id),
                "docs/formats/{format}.md lacks {}, which real files break",
                rule.id
            );
        }
    }
}
