//! Keyword arguments as options of Rust. Errors distinguish wrong names, types and values, as Python does.

use std::fmt::{self, Display};

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// The reason why a keyword argument is not an option.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No option has this name. The names that options have, for people.
    Name(String),
    /// A value of another type: the expected and the actual type.
    Type(String),
    /// A value that the option cannot have.
    Value(String),
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Type(text) | Self::Value(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = in_python(expected);
        Self::Type(format!("invalid type: {found}, expected {expected}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = in_python(expected);
        Self::Value(format!("invalid value: {found}, expected {expected}"))
    }

    fn unknown_field(_: &str, names: &'static [&'static str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Self::Name(format!("expected one of {}", names.join(", ")))
    }
}

/// The words for an expected value, without Rust's names of types.
fn in_python(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    let words = match name.as_str() {
        "a nonzero usize" => "an integer above 0",
        "usize" | "u64" => "an integer of 0 or above",
        "u32" => "an integer from 0 to 4294967295",
        "f64" => "a number",
        _ => return name,
    };
    words.to_owned()
}

/// The options with one of them set, and defaults for the others.
pub(crate) fn option<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, Refused> {
    T::deserialize(MapDeserializer::new(
        [(name.to_owned(), Argument(value))].into_iter(),
    ))
}

/// The value of an argument.
struct Argument(Value);

impl IntoDeserializer<'_, Refused> for Argument {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Argument {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(value) => visitor.visit_string(value),
            Value::Array(values) => {
                let elements = values.into_iter().map(Argument);
                SeqDeserializer::new(elements).deserialize_any(visitor)
            }
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            // Arguments that are None are left out, and dictionaries are refused.
            Value::Null | Value::Object(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self.0 {
            Value::String(value) => {
                let value: StringDeserializer<Refused> = value.into_deserializer();
                value.deserialize_enum(name, variants, visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
