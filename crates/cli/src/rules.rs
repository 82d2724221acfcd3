//! The rules that files are checked against, by their identifiers.

use meshmap::{Format, Rule};

/// A rule that is allowed to be broken: by its identifier, for all formats or for one (`slmesh.degenerate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    format: Option<Format>,
    id: String,
}

impl Allowed {
    /// For clap.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (format, id) = match text.split_once('.') {
            Some((format, id)) => (
                Some(
                    format
                        .parse::<Format>()
                        .map_err(|error| error.to_string())?,
                ),
                id,
            ),
            None => (None, text),
        };
        let formats = format.map_or_else(|| Format::ALL.to_vec(), |format| vec![format]);
        if formats
            .iter()
            .any(|format| Rule::by_id(*format, id).is_some())
        {
            return Ok(Self {
                format,
                id: id.to_owned(),
            });
        }
        Err("no such rule; `meshmap verify --rules` lists them".to_owned())
    }

    pub(crate) fn is(&self, format: Format, rule: Rule) -> bool {
        self.id == rule.id && self.format.is_none_or(|own| own == format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_allowed_for_all_formats_or_for_one() {
        let rule = Rule::by_id(Format::Tmf, "not_finite").unwrap();
        assert!(Allowed::parse("not_finite").unwrap().is(Format::Tmf, rule));
        assert!(
            Allowed::parse("tmf.not_finite")
                .unwrap()
                .is(Format::Tmf, rule)
        );
        assert!(
            !Allowed::parse("iqm.not_finite")
                .unwrap()
                .is(Format::Tmf, rule)
        );
        assert!(Allowed::parse("not_finit").is_err() && Allowed::parse("tmf.degenerate").is_err());
    }
}
