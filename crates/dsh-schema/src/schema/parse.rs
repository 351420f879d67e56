//! Reading a schema: one pass that builds the nodes and lists every reason to refuse (T369 to T382).
//!
//! The order of the violations is part of the contract (T381). Open work lies on a list of tasks, last in, first out, so
//! whatever has to come after the children is pushed before them.

use super::allowed::Allowed;
use super::literal::{Literal, LiteralValue, is_integer};
use super::place::{Place, Places, Step};
use super::tree::{Node, NodeId, Notes, ObjectNode, Property, Scalar, Tree};
use super::view::View;

const SUBSET: &str =
    "(subset: type/oneOf/properties/required/additionalProperties/items/enum/const + annotations)";

/// Compiles a schema.
///
/// Fails with every violation, in walk order.
pub(super) fn parse<'a, V: View<'a>>(schema: V) -> Result<Tree, Vec<String>> {
    let mut parser = Parser {
        nodes: vec![Node::Any],
        notes: vec![Notes::default()],
        places: Places::new("schema"),
        violations: Vec::new(),
        tasks: vec![Task::Node {
            schema,
            id: 0,
            place: Places::ROOT,
        }],
    };
    while let Some(task) = parser.tasks.pop() {
        match task {
            Task::Node { schema, id, place } => parser.node(schema, id, place),
            Task::AfterProperties {
                keywords,
                properties,
                id,
                place,
            } => {
                parser.after_properties(&keywords, properties, id, place);
            }
            Task::AfterBranches { keywords, place } => {
                parser.misplaced(
                    &keywords,
                    &CONSTRAINTS,
                    place,
                    "is not supported beside oneOf",
                );
            }
        }
    }
    if parser.violations.is_empty() {
        super::tree::tag(&mut parser.nodes);
        Ok(Tree {
            nodes: parser.nodes,
            notes: parser.notes,
        })
    } else {
        Err(parser.violations)
    }
}

enum Task<V> {
    Node {
        schema: V,
        id: NodeId,
        place: Place,
    },
    AfterProperties {
        keywords: Keywords<V>,
        properties: Vec<Property>,
        id: NodeId,
        place: Place,
    },
    AfterBranches {
        keywords: Keywords<V>,
        place: Place,
    },
}

/// The keywords that constrain, apart from `type` and `oneOf`; violations name them in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constraint {
    Properties,
    Required,
    AdditionalProperties,
    Items,
    Enum,
    Const,
}

const CONSTRAINTS: [Constraint; 6] = [
    Constraint::Properties,
    Constraint::Required,
    Constraint::AdditionalProperties,
    Constraint::Items,
    Constraint::Enum,
    Constraint::Const,
];

impl Constraint {
    fn name(self) -> &'static str {
        match self {
            Self::Properties => "properties",
            Self::Required => "required",
            Self::AdditionalProperties => "additionalProperties",
            Self::Items => "items",
            Self::Enum => "enum",
            Self::Const => "const",
        }
    }
}

/// The keywords of one node, those that are there. Presence counts, whatever the value.
#[derive(Clone, Copy)]
struct Keywords<V> {
    r#type: Option<V>,
    one_of: Option<V>,
    constraints: [Option<V>; 6],
    description: Option<V>,
    title: Option<V>,
}

impl<V: Copy> Keywords<V> {
    fn get(&self, constraint: Constraint) -> Option<V> {
        self.constraints[constraint as usize]
    }
}

struct Parser<'a, V: View<'a>> {
    nodes: Vec<Node>,
    notes: Vec<Notes>,
    places: Places<'a>,
    violations: Vec<String>,
    tasks: Vec<Task<V>>,
}

impl<'a, V: View<'a>> Parser<'a, V> {
    /// Notes a violation; `text` follows the path directly.
    fn refuse(&mut self, place: Place, text: impl AsRef<str>) {
        let mut violation = self.places.path(place);
        violation.push_str(text.as_ref());
        self.violations.push(violation);
    }

    /// A node to be filled later. Ids are given when a child is met, so siblings are neighbours.
    fn reserve(&mut self) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(Node::Any);
        self.notes.push(Notes::default());
        id
    }

    fn fill(&mut self, id: NodeId, node: Node) {
        self.nodes[id as usize] = node;
    }

    /// Leaves the children in the tasks so that the first comes first.
    fn push_children(&mut self, children: Vec<Task<V>>) {
        self.tasks.extend(children.into_iter().rev());
    }

    fn node(&mut self, schema: V, id: NodeId, place: Place) {
        let Some(object) = schema.object() else {
            self.refuse(place, " must be a schema object");
            return;
        };
        let keywords = self.keywords(object, place);
        self.notes[id as usize] = Notes {
            description: self.text(keywords.description, "description", place),
            title: self.text(keywords.title, "title", place),
        };
        match (keywords.r#type, keywords.one_of) {
            (Some(_), Some(_)) => self.refuse(place, " cannot declare both type and oneOf"),
            (None, None) => {
                self.misplaced(&keywords, &CONSTRAINTS, place, "requires type or oneOf")
            }
            (None, Some(one_of)) => self.one_of(one_of, keywords, id, place),
            (Some(name), None) => self.typed(name, keywords, id, place),
        }
    }

    fn keywords(&mut self, object: V::Object, place: Place) -> Keywords<V> {
        let mut keywords = Keywords {
            r#type: None,
            one_of: None,
            constraints: [None; 6],
            description: None,
            title: None,
        };
        for (key, value) in V::members(object) {
            let mut is_annotation = false;
            match key {
                "type" => keywords.r#type = Some(value),
                "oneOf" => keywords.one_of = Some(value),
                "description" => {
                    is_annotation = true;
                    keywords.description = Some(value);
                }
                "title" => {
                    is_annotation = true;
                    keywords.title = Some(value);
                }
                "default" | "examples" => is_annotation = true,
                _ => match CONSTRAINTS
                    .into_iter()
                    .find(|constraint| constraint.name() == key)
                {
                    Some(constraint) => keywords.constraints[constraint as usize] = Some(value),
                    None => {
                        self.refuse(place, format!(".{key} is not a supported keyword {SUBSET}"))
                    }
                },
            }
            if is_annotation && !value.is_lossless() {
                self.refuse(
                    place,
                    format!(".{key} annotation must be lossless JSON data"),
                );
            }
        }
        keywords
    }

    fn text(&mut self, value: Option<V>, keyword: &str, place: Place) -> Option<Box<str>> {
        let text = value?.string();
        if text.is_none() {
            self.refuse(place, format!(".{keyword} must be a string"));
        }
        text.map(Into::into)
    }

    /// Refuses those of `constraints` that are there.
    fn misplaced(
        &mut self,
        keywords: &Keywords<V>,
        constraints: &[Constraint],
        place: Place,
        why: &str,
    ) {
        for &constraint in constraints {
            if keywords.get(constraint).is_some() {
                self.refuse(place, format!(".{} {why}", constraint.name()));
            }
        }
    }

    fn one_of(&mut self, one_of: V, keywords: Keywords<V>, id: NodeId, place: Place) {
        self.tasks.push(Task::AfterBranches { keywords, place });
        let mut branches = Vec::new();
        let mut first = 0;
        for (index, schema) in one_of.array().into_iter().flat_map(V::items).enumerate() {
            let id = self.reserve();
            if index == 0 {
                first = id;
            }
            branches.push(Task::Node {
                schema,
                id,
                place: self.places.add(place, Step::Branch(index)),
            });
        }
        if branches.len() < 2 {
            self.refuse(place, ".oneOf must be an array of at least two schemas");
        }
        self.fill(
            id,
            Node::OneOf(
                first,
                u32::try_from(branches.len()).unwrap_or(u32::MAX),
                None,
            ),
        );
        self.push_children(branches);
    }

    fn typed(&mut self, name: V, keywords: Keywords<V>, id: NodeId, place: Place) {
        use Constraint::{AdditionalProperties, Const, Enum, Items, Properties, Required};
        if name.array().is_some() {
            self.refuse(
                place,
                ".type must be a single type string (type arrays are not supported)",
            );
            return;
        }
        let name = name.string().unwrap_or_default();
        let why = format!("is not supported on type \"{name}\"");
        match name {
            "object" => {
                self.misplaced(&keywords, &[Items, Enum, Const], place, &why);
                self.object(keywords, id, place);
            }
            "array" => {
                self.misplaced(
                    &keywords,
                    &[Properties, Required, AdditionalProperties, Enum, Const],
                    place,
                    &why,
                );
                let items = keywords.get(Items).map(|schema| {
                    let id = self.reserve();
                    let place = self.places.add(place, Step::Items);
                    self.tasks.push(Task::Node { schema, id, place });
                    id
                });
                self.fill(id, Node::Array(items));
            }
            _ => match scalar_of(name) {
                Some(scalar) => {
                    self.misplaced(
                        &keywords,
                        &[Properties, Required, AdditionalProperties, Items],
                        place,
                        &why,
                    );
                    self.scalar(scalar, &keywords, id, place);
                }
                None => {
                    self.refuse(
                        place,
                        ".type must be one of object/array/string/number/integer/boolean/null",
                    );
                }
            },
        }
    }

    fn object(&mut self, keywords: Keywords<V>, id: NodeId, place: Place) {
        let declared = keywords.get(Constraint::Properties);
        let members = declared.and_then(V::object);
        if declared.is_some() && members.is_none() {
            self.refuse(place, ".properties must be an object of schemas");
        }
        let mut properties = Vec::new();
        let mut children = Vec::new();
        for (name, schema) in members.into_iter().flat_map(V::members) {
            let node = self.reserve();
            properties.push(Property {
                name: name.into(),
                node,
                required: false,
            });
            children.push(Task::Node {
                schema,
                id: node,
                place: self.places.add(place, Step::Property(name)),
            });
        }
        self.tasks.push(Task::AfterProperties {
            keywords,
            properties,
            id,
            place,
        });
        self.push_children(children);
    }

    fn after_properties(
        &mut self,
        keywords: &Keywords<V>,
        properties: Vec<Property>,
        id: NodeId,
        place: Place,
    ) {
        let required = keywords
            .get(Constraint::Required)
            .map(|required| self.required(required, place));
        let mut object = ObjectNode::new(properties, false);
        for name in required.unwrap_or_default() {
            if !object.require(name) {
                self.refuse(
                    place,
                    format!(".required names \"{name}\" which is not in properties"),
                );
            }
        }
        if let Some(additional) = keywords.get(Constraint::AdditionalProperties) {
            match additional.boolean() {
                Some(open) => object.closed = !open,
                None => self.refuse(place, ".additionalProperties must be a boolean"),
            }
        }
        self.fill(id, Node::Object(Box::new(object)));
    }

    /// The names that `required` lists; none when it is malformed.
    fn required(&mut self, required: V, place: Place) -> Vec<&'a str> {
        let names: Option<Vec<_>> = required
            .array()
            .and_then(|names| V::items(names).map(V::string).collect());
        if names.is_none() {
            self.refuse(place, ".required must be an array of strings");
        }
        names.unwrap_or_default()
    }

    fn scalar(&mut self, scalar: Scalar, keywords: &Keywords<V>, id: NodeId, place: Place) {
        let name = scalar.name();
        let literal = |value| Literal::read(value).filter(|literal| is_of(literal, scalar));
        let listed = keywords.get(Constraint::Enum);
        let values: Option<Vec<_>> = listed
            .and_then(V::array)
            .and_then(|values| V::items(values).map(literal).collect())
            .filter(|values: &Vec<_>| !values.is_empty());
        if listed.is_some() && values.is_none() {
            self.refuse(
                place,
                format!(".enum must be a non-empty array of {name} values"),
            );
        }
        let given = keywords.get(Constraint::Const);
        let constant = given.and_then(literal);
        if given.is_some() && constant.is_none() {
            self.refuse(place, format!(".const must be a {name} value"));
        }
        if let (Some(values), Some(constant)) = (&values, &constant)
            && !values.iter().any(|value| value.is_equal(constant))
        {
            let path = self.places.path(place);
            self.refuse(
                place,
                format!(".const must be one of {path}.enum when both are declared"),
            );
        }
        let allowed = (values.is_some() || constant.is_some())
            .then(|| Box::new(Allowed::new(scalar, values.unwrap_or_default(), constant)));
        self.fill(id, Node::Scalar(scalar, allowed));
    }
}

fn scalar_of(name: &str) -> Option<Scalar> {
    [
        Scalar::String,
        Scalar::Number,
        Scalar::Integer,
        Scalar::Boolean,
        Scalar::Null,
    ]
    .into_iter()
    .find(|scalar| scalar.name() == name)
}

/// Whether a literal is a value of the scalar type.
fn is_of(literal: &Literal, scalar: Scalar) -> bool {
    match (literal.value(), scalar) {
        (LiteralValue::Number(number), Scalar::Integer) => is_integer(*number),
        (LiteralValue::String(_), Scalar::String)
        | (LiteralValue::Number(_), Scalar::Number)
        | (LiteralValue::Boolean(_), Scalar::Boolean)
        | (LiteralValue::Null, Scalar::Null) => true,
        _ => false,
    }
}
