//! The tree of a stage: prims, their properties, and the fields of both.

use std::borrow::Cow;
use std::rc::Rc;

use meshmap::Bounds;

use super::values::Rep;

/// A name or a word.
pub(super) type Token = Cow<'static, str>;

/// The field with the type of a prim.
const TYPE_NAME: &str = "typeName";

/// A thing with a name, a type, properties and children.
pub(super) struct Prim {
    pub(super) spec: Spec,
    pub(super) name: String,
    pub(super) fields: Vec<(&'static str, Value)>,
    pub(super) properties: Vec<Property>,
    pub(super) children: Vec<Prim>,
}

/// A prim that moves, and the fields of the stage with its times.
pub(super) struct Written {
    pub(super) prim: Prim,
    pub(super) times: Vec<(&'static str, Value)>,
}

/// The kind of a thing at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spec {
    Prim,
    /// The list of the variants of a prim.
    VariantSet,
    /// A variant of the set of this name: what a prim has besides if the variant is chosen.
    Variant(&'static str),
}

/// An attribute or a relationship.
pub(super) struct Property {
    pub(super) name: Token,
    pub(super) is_relationship: bool,
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// The value of a field.
pub(super) enum Value {
    /// A value that has already been written.
    Stored(Rep),
    Bool(bool),
    /// An integer with a sign, which is not used.
    Int(u32),
    Float(f32),
    Double(f64),
    Token(Token),
    /// The path of a file, relative to this one.
    Asset(String),
    Text(String),
    /// Animations share the list of their joints.
    Tokens(Rc<[Token]>),
    /// Prims that a relationship leads to, or properties that an attribute is connected to, by their paths.
    Targets(Vec<String>),
    /// Tokens before the tokens of weaker layers.
    Prepended(Vec<Token>),
    /// Names before the names of weaker layers.
    PrependedNames(Vec<Token>),
    /// Names in an order.
    Names(Vec<Token>),
    /// The variant that is chosen, after the name of its set.
    Selection(Token, String),
    /// That a prim is defined.
    Defined,
    /// That something is said about a prim that is defined elsewhere.
    Over,
    /// That a property has no time samples.
    Uniform(bool),
}

impl Prim {
    pub(super) fn new(kind: &'static str, name: impl Into<String>) -> Self {
        let fields = vec![
            ("specifier", Value::Defined),
            (TYPE_NAME, Value::Token(kind.into())),
        ];
        Self {
            spec: Spec::Prim,
            name: name.into(),
            fields,
            properties: Vec::new(),
            children: Vec::new(),
        }
    }

    /// The set of variants of these names, which are its siblings.
    pub(super) fn variant_set(name: &'static str, variants: Vec<Token>) -> Self {
        Self {
            spec: Spec::VariantSet,
            name: name.to_owned(),
            fields: vec![("variantChildren", Value::Names(variants))],
            properties: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A variant of a set, with the prims that it adds.
    pub(super) fn variant(set: &'static str, name: String, children: Vec<Self>) -> Self {
        Self {
            spec: Spec::Variant(set),
            name,
            fields: vec![("specifier", Value::Over)],
            properties: Vec::new(),
            children,
        }
    }

    /// The last part of its path.
    pub(super) fn element(&self) -> Cow<'_, str> {
        match self.spec {
            Spec::Prim => Cow::Borrowed(&self.name),
            Spec::VariantSet => format!("{{{}=}}", self.name).into(),
            Spec::Variant(set) => format!("{{{set}={}}}", self.name).into(),
        }
    }

    /// Makes it a prim of another type.
    pub(super) fn set_kind(&mut self, kind: &'static str) {
        for (name, value) in &mut self.fields {
            if *name == TYPE_NAME {
                *value = Value::Token(kind.into());
            }
        }
    }

    /// Shows this name instead of the prim's name, if they differ.
    pub(super) fn displayed(mut self, name: &str) -> Self {
        if !name.is_empty() && name != self.name {
            self.fields
                .push(("displayName", Value::Text(name.to_owned())));
        }
        self
    }

    pub(super) fn with(mut self, property: Property) -> Self {
        self.properties.push(property);
        self
    }

    /// Applies a schema, which adds properties.
    pub(super) fn apply(&mut self, schema: &'static str) {
        for (_, value) in &mut self.fields {
            if let Value::Prepended(schemas) = value {
                schemas.push(schema.into());
                return;
            }
        }
        let schemas = Value::Prepended(vec![schema.into()]);
        self.fields.push(("apiSchemas", schemas));
    }

    /// Binds the material at a path.
    pub(super) fn bind(&mut self, material: &str) {
        self.apply("MaterialBindingAPI");
        self.properties
            .push(Property::relationship("material:binding", material));
    }
}

impl Property {
    fn new(name: Token, is_relationship: bool, is_uniform: bool) -> Self {
        let fields = vec![
            ("custom", Value::Bool(false)),
            ("variability", Value::Uniform(is_uniform)),
        ];
        Self {
            name,
            is_relationship,
            fields,
        }
    }

    pub(super) fn attribute(name: impl Into<Token>, kind: &'static str) -> Self {
        Self::new(name.into(), false, false).field("typeName", Value::Token(kind.into()))
    }

    /// An attribute that does not change in time.
    pub(super) fn uniform(name: &'static str, kind: &'static str, value: Value) -> Self {
        let attribute =
            Self::new(name.into(), false, true).field("typeName", Value::Token(kind.into()));
        attribute.field("default", value)
    }

    pub(super) fn relationship(name: &'static str, target: &str) -> Self {
        Self::new(name.into(), true, true)
            .field("targetPaths", Value::Targets(vec![target.to_owned()]))
    }

    /// An attribute that has its value from a property of another prim.
    pub(super) fn connected(name: &'static str, kind: &'static str, source: String) -> Self {
        Self::attribute(name, kind).field("connectionPaths", Value::Targets(vec![source]))
    }

    pub(super) fn field(mut self, name: &'static str, value: Value) -> Self {
        self.fields.push((name, value));
        self
    }

    pub(super) fn value(self, rep: Rep) -> Self {
        self.field("default", Value::Stored(rep))
    }

    /// Says what has an element each: `vertex` or `faceVarying`.
    pub(super) fn interpolated(self, how: &'static str) -> Self {
        self.field("interpolation", Value::Token(how.into()))
    }
}

/// A mesh of triangles that are seen from both sides, as they are.
pub(super) fn mesh(name: String) -> Prim {
    let word =
        |name, word: &'static str| Property::uniform(name, "token", Value::Token(word.into()));
    Prim::new("Mesh", name)
        .with(Property::uniform("doubleSided", "bool", Value::Bool(true)))
        .with(word("orientation", "rightHanded"))
        .with(word("subdivisionScheme", "none"))
}

/// The box around points; of none, the one that USD takes for empty.
pub(super) fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let bounds = Bounds::around(points.iter().copied());
    bounds.map_or([[f32::MAX; 3], [f32::MIN; 3]], |bounds| {
        [bounds.min, bounds.max]
    })
}

/// The name of a set of texture coordinates, among the primvars.
pub(super) fn coordinates(set: u32) -> String {
    if set == 0 {
        "st".to_owned()
    } else {
        format!("st{set}")
    }
}

/// The name of the property that holds a primvar.
pub(super) fn primvar(name: &str) -> String {
    format!("primvars:{name}")
}
