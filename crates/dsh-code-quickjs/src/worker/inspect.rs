//! How `console` shows a value: bounded, and without running any code of the program (C209, C210).
//!
//! Accessors are shown as `[Getter]`, proxies as `[Proxy]`. The layout beyond the plain shapes is ours (D34).

use std::fmt::Write as _;

use rquickjs::object::Filter;
use rquickjs::promise::PromiseState;
use rquickjs::{Object, Promise, String as Text, Value};

use super::raw;
use super::realm::Realm;

const MAX_NESTING: usize = 4;
const MAX_ITEMS: usize = 100;
const MAX_CHARACTERS: usize = 10_000;
/// Steps up a prototype chain in search of a class name.
const MAX_PROTOTYPES: usize = 8;

/// Shows values in a row, as one log entry. It stops growing a little beyond `budget` bytes; `tick` is asked now and then
/// and may end the process.
pub(super) fn line<'js>(
    realm: &Realm<'js>,
    values: &[Value<'js>],
    budget: usize,
    tick: &dyn Fn(),
) -> String {
    let mut view = View {
        realm,
        out: String::new(),
        budget,
        path: Vec::new(),
        shown: 0,
        tick,
    };
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            view.out.push(' ');
        }
        match value.as_string() {
            Some(text) => {
                let text = realm.lossy(text).unwrap_or_default();
                view.out.push_str(cut(&text, budget.saturating_add(1)));
            }
            None => view.value(value),
        }
    }
    view.out
}

/// Shows one value on its own.
pub(super) fn text<'js>(realm: &Realm<'js>, value: &Value<'js>) -> String {
    line(realm, std::slice::from_ref(value), MAX_CHARACTERS, &|| {})
}

struct View<'v, 'js> {
    realm: &'v Realm<'js>,
    out: String,
    budget: usize,
    path: Vec<Object<'js>>,
    shown: usize,
    tick: &'v dyn Fn(),
}

impl<'js> View<'_, 'js> {
    fn value(&mut self, value: &Value<'js>) {
        self.shown += 1;
        if self.shown.is_multiple_of(256) {
            (self.tick)();
        }
        if self.out.len() > self.budget {
            return;
        }
        if let Some(text) = value.as_string() {
            self.quoted(text);
        } else if let Some(number) = value.as_number() {
            let negative_zero = number == 0.0 && number.is_sign_negative();
            let text = self.realm.call("text", (value.clone(),));
            self.out.push_str(if negative_zero { "-" } else { "" });
            self.out.push_str(&text.unwrap_or_else(|_| self.failed()));
        } else if let Some(truth) = value.as_bool() {
            self.out.push_str(if truth { "true" } else { "false" });
        } else if value.is_null() {
            self.out.push_str("null");
        } else if value.is_big_int() {
            let text = self.realm.call("text", (value.clone(),));
            self.out.push_str(&text.unwrap_or_else(|_| self.failed()));
            self.out.push('n');
        } else if value.is_symbol() {
            let text = self.realm.call::<_, Text<'_>>("text", (value.clone(),));
            let text = text.and_then(|text| self.realm.lossy(&text));
            self.out.push_str(&text.unwrap_or_else(|_| self.failed()));
        } else if let Some(object) = value.as_object() {
            self.object(object);
        } else {
            self.out.push_str("undefined");
        }
    }

    /// What stands for something that could not be shown; the exception goes.
    fn failed(&self) -> String {
        drop(self.realm.promise.ctx().catch());
        "[?]".to_owned()
    }

    fn quoted(&mut self, text: &Text<'js>) {
        let text = self.realm.lossy(text).unwrap_or_else(|_| self.failed());
        let shown = text
            .char_indices()
            .nth(MAX_CHARACTERS)
            .map_or(text.len(), |(at, _)| at);
        let quote = if !text.contains('\'') {
            '\''
        } else if !text.contains('"') {
            '"'
        } else {
            '`'
        };
        self.out.push(quote);
        for character in text.chars().take(MAX_CHARACTERS) {
            match character {
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                '\\' => self.out.push_str("\\\\"),
                _ if character == quote => {
                    self.out.push('\\');
                    self.out.push(quote);
                }
                _ if character.is_control() => {
                    let _ = write!(self.out, "\\x{:02X}", u32::from(character));
                }
                _ => self.out.push(character),
            }
        }
        self.out.push(quote);
        let left = text.get(shown..).unwrap_or_default().chars().count();
        if left > 0 {
            let _ = write!(self.out, "... {left} more characters");
        }
    }

    fn object(&mut self, object: &Object<'js>) {
        if object.is_proxy() {
            self.out.push_str("[Proxy]");
            return;
        }
        if object.is_function() {
            let name = self
                .own_text(object, "name")
                .filter(|name| !name.is_empty());
            match name {
                Some(name) => {
                    let _ = write!(self.out, "[Function: {}]", cut(&name, 200));
                }
                None => self.out.push_str("[Function (anonymous)]"),
            }
            return;
        }
        if object.is_error() {
            let shown = self.error(object);
            self.out.push_str(&shown);
            return;
        }
        let class = self.class(object);
        if self.path.iter().any(|open| open == object) {
            self.out.push_str("[Circular]");
            return;
        }
        if self.path.len() > MAX_NESTING {
            let name = if object.is_array() {
                "Array"
            } else {
                class.as_deref().unwrap_or("Object")
            };
            let _ = write!(self.out, "[{name}]");
            return;
        }
        self.path.push(object.clone());
        self.contents(object, class.as_deref());
        self.path.pop();
    }

    fn contents(&mut self, object: &Object<'js>, class: Option<&str>) {
        let value = object.as_value();
        if raw::class_of(value) == self.realm.array_class {
            if let Some(class) = class.filter(|class| *class != "Array") {
                let _ = write!(self.out, "{class} ");
            }
            self.array(object);
            return;
        }
        if let Some(promise) = Promise::from_value(value.clone())
            .ok()
            .filter(|_| object.is_promise())
        {
            self.out.push_str(match promise.state() {
                PromiseState::Pending => "Promise { <pending> }",
                PromiseState::Resolved => "Promise { <resolved> }",
                PromiseState::Rejected => "Promise { <rejected> }",
            });
            return;
        }
        // Each of these natives refuses what is not of its class.
        for native in ["date", "pattern"] {
            if let Some(text) = self.native::<String>(native, object) {
                self.out.push_str(&text);
                return;
            }
        }
        if let Some(size) = self.native::<u32>("mapSize", object) {
            let _ = write!(self.out, "Map({size})");
            self.entries(object, "mapEntries", size, true);
            return;
        }
        if let Some(size) = self.native::<u32>("setSize", object) {
            let _ = write!(self.out, "Set({size})");
            self.entries(object, "setEntries", size, false);
            return;
        }
        if let Some(name) = self.native::<String>("typedName", object) {
            let length = self
                .native::<u32>("typedLength", object)
                .unwrap_or_default();
            let _ = write!(self.out, "{name}({length}) [");
            for index in 0..length.min(MAX_ITEMS as u32) {
                self.out.push_str(if index == 0 { " " } else { ", " });
                // An element of a typed array is plain data.
                match object.get::<_, Value<'_>>(index) {
                    Ok(element) => self.value(&element),
                    Err(_) => self.out.push_str("[?]"),
                }
            }
            self.more(length as usize, MAX_ITEMS);
            self.out.push_str(if length == 0 { "]" } else { " ]" });
            return;
        }
        match class {
            Some("Object") => {}
            Some(class) => {
                let _ = write!(self.out, "{class} ");
            }
            None => self.out.push_str("[Object: null prototype] "),
        }
        self.members(object);
    }

    /// The result of a captured native that throws for objects of another class.
    fn native<R: rquickjs::FromJs<'js>>(&self, name: &str, object: &Object<'js>) -> Option<R> {
        let result = self.realm.call(name, (object.clone(),));
        if result.is_err() {
            drop(object.ctx().catch());
        }
        result.ok()
    }

    fn array(&mut self, array: &Object<'js>) {
        let length: f64 = array.get("length").unwrap_or_default();
        let length = length as usize;
        if length == 0 {
            self.out.push_str("[]");
            return;
        }
        self.out.push('[');
        let mut holes = 0;
        for index in 0..length.min(MAX_ITEMS) {
            let slot = self.realm.slot(array, index as u32);
            drop(array.ctx().catch());
            match slot {
                None => holes += 1,
                Some(slot) => {
                    self.holes(&mut holes, index);
                    self.out.push_str(if index == 0 { " " } else { ", " });
                    match slot.value {
                        Some(value) => self.value(&value),
                        None => self.out.push_str("[Getter]"),
                    }
                }
            }
        }
        self.holes(&mut holes, length.min(MAX_ITEMS));
        self.more(length, MAX_ITEMS);
        self.out.push_str(" ]");
    }

    /// Writes the run of holes that ends before `index`.
    fn holes(&mut self, holes: &mut usize, index: usize) {
        let run = std::mem::take(holes);
        if run > 0 {
            self.out.push_str(if run == index { " " } else { ", " });
            let plural = if run == 1 { "" } else { "s" };
            let _ = write!(self.out, "<{run} empty item{plural}>");
        }
    }

    fn more(&mut self, total: usize, shown: usize) {
        if let Some(left) = total.checked_sub(shown).filter(|left| *left > 0) {
            let plural = if left == 1 { "" } else { "s" };
            let _ = write!(self.out, ", ... {left} more item{plural}");
        }
    }

    fn entries(&mut self, object: &Object<'js>, native: &str, size: u32, pairs: bool) {
        let width = if pairs { 2 } else { 1 };
        let limit = (MAX_ITEMS * width) as u32;
        let Ok(list) = self
            .realm
            .call::<_, Object<'_>>(native, (object.clone(), limit))
        else {
            let failed = self.failed();
            self.out.push_str(&failed);
            return;
        };
        let count = list.get::<_, u32>("length").unwrap_or_default();
        self.out.push_str(if count == 0 { " {" } else { " { " });
        for index in 0..count {
            if index > 0 {
                self.out.push_str(if pairs && index % 2 == 1 {
                    " => "
                } else {
                    ", "
                });
            }
            if let Ok(value) = list.get::<_, Value<'_>>(index) {
                self.value(&value);
            }
        }
        self.more(size as usize, MAX_ITEMS);
        self.out.push_str(if count == 0 { "}" } else { " }" });
    }

    /// Own enumerable members with string keys; symbols are left out.
    fn members(&mut self, object: &Object<'js>) {
        let keys: Vec<Text<'_>> = object
            .own_keys(Filter::default())
            .filter_map(Result::ok)
            .take(MAX_ITEMS + 1)
            .collect();
        if keys.is_empty() {
            self.out.push_str("{}");
            return;
        }
        self.out.push('{');
        for (index, key) in keys.iter().take(MAX_ITEMS).enumerate() {
            if self.out.len() > self.budget {
                break;
            }
            self.out.push_str(if index == 0 { " " } else { ", " });
            self.key(key);
            self.out.push_str(": ");
            match self
                .realm
                .slot(object, key.clone())
                .and_then(|slot| slot.value)
            {
                Some(value) => self.value(&value),
                None => self.out.push_str("[Getter]"),
            }
        }
        if keys.len() > MAX_ITEMS {
            self.out.push_str(", ...");
        }
        self.out.push_str(" }");
    }

    fn key(&mut self, text: &Text<'js>) {
        let plain = text.to_string().ok().filter(|text| {
            let mut characters = text.chars();
            let is_start = |c: char| c == '_' || c == '$' || c.is_alphabetic();
            characters.next().is_some_and(is_start)
                && characters.all(|c| is_start(c) || c.is_alphanumeric())
        });
        match plain {
            Some(plain) => self.out.push_str(cut(&plain, MAX_CHARACTERS)),
            None => self.quoted(text),
        }
    }

    /// `name: message` from data properties alone.
    fn error(&self, error: &Object<'js>) -> String {
        let name = self
            .inherited_text(error, "name")
            .unwrap_or_else(|| "Error".to_owned());
        let message = self.inherited_text(error, "message").unwrap_or_default();
        let (name, message) = (cut(&name, 200), cut(&message, MAX_CHARACTERS));
        if message.is_empty() {
            format!("[{name}]")
        } else {
            format!("[{name}: {message}]")
        }
    }

    /// The name of the class: that of the nearest prototype with a constructor that has one.
    fn class(&self, object: &Object<'js>) -> Option<String> {
        let mut prototype = object.get_prototype()?;
        for _ in 0..MAX_PROTOTYPES {
            if prototype.is_proxy() {
                break;
            }
            let constructor = self
                .realm
                .slot(&prototype, "constructor")
                .and_then(|slot| slot.value);
            let constructor = constructor.as_ref().and_then(|value| value.as_object());
            let name = constructor
                .filter(|constructor| !constructor.is_proxy())
                .and_then(|constructor| self.own_text(constructor, "name"));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                return Some(cut(&name, 200).to_owned());
            }
            let Some(next) = prototype.get_prototype() else {
                break;
            };
            prototype = next;
        }
        Some("Object".to_owned())
    }

    fn own_text(&self, object: &Object<'js>, key: &str) -> Option<String> {
        let value = self.realm.slot(object, key)?.value?;
        self.realm.lossy(value.as_string()?).ok()
    }

    fn inherited_text(&self, object: &Object<'js>, key: &str) -> Option<String> {
        let mut holder = object.clone();
        for _ in 0..MAX_PROTOTYPES {
            if holder.is_proxy() {
                return None;
            }
            if let Some(text) = self.own_text(&holder, key) {
                return Some(text);
            }
            holder = holder.get_prototype()?;
        }
        None
    }
}

/// At most so many bytes, whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
