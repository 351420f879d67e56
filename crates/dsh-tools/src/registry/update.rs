//! Several changes as one.

use std::collections::HashSet;
use std::sync::Arc;

use dsh_context::{Effect, EntryId, ScopeId};
use parking_lot::Mutex;

use super::Tools;
use super::receiver::{
    Receiver, Registration, ToolPlace, check_name, in_layer, out_of_layer, take_tool,
};
use super::tables::Tables;
use crate::{RegistryError, Tool};

/// The changes of one [`Tools::update`], collected before any is made.
#[derive(Default)]
pub struct Update {
    changes: Vec<Change>,
}

enum Change {
    Remove(ToolPlace, Effect),
    Register(Receiver, Tool),
}

/// Where a planned tool is on its way into the tables. Its undo is with the fiber before the tool is in.
enum Seat {
    Planned,
    Taken(ToolPlace),
    Undone,
}

type SharedSeat = Arc<Mutex<Seat>>;

impl Update {
    /// Plans the removal of a tool; its name is free for a later [`register`](Update::register) of the same update.
    ///
    /// # Errors
    ///
    /// The registration is not one of a tool.
    pub fn remove(&mut self, registration: &Registration) -> Result<(), RegistryError> {
        let (place, effect) = registration.tool_parts().ok_or_else(|| {
            RegistryError::stale("only the registration of a tool can be part of an update")
        })?;
        self.changes.push(Change::Remove(place, effect));
        Ok(())
    }

    /// Plans the registration of a tool. Its handle is among those that [`Tools::update`] returns, in order.
    ///
    /// # Errors
    ///
    /// The reserved name. A name that is taken is found when the update is made.
    pub fn register(&mut self, receiver: &Receiver, tool: Tool) -> Result<(), RegistryError> {
        check_name(&tool)?;
        self.changes.push(Change::Register(receiver.clone(), tool));
        Ok(())
    }

    /// Makes the changes, all or none, with one notification at the end.
    pub(super) fn commit(self, tools: &Tools) -> Result<Vec<Registration>, RegistryError> {
        if self.changes.is_empty() {
            return Ok(Vec::new());
        }
        // Undos first: from here on, a fiber that ends takes its part back whatever happens.
        let mut seats: Vec<(SharedSeat, Effect)> = Vec::new();
        for change in &self.changes {
            let Change::Register(receiver, _) = change else {
                continue;
            };
            let seat: SharedSeat = Arc::new(Mutex::new(Seat::Planned));
            match receiver.fiber().effect("tool", undo_seat(tools, &seat)) {
                Ok(effect) => seats.push((seat, effect)),
                Err(inactive) => {
                    withdraw(seats);
                    return Err(inactive.into());
                }
            }
        }
        let mut removed = Vec::new();
        let mut spent = Vec::new();
        {
            let mut tables = tools.0.write();
            if let Err(error) = check(&tables, &self.changes) {
                drop(tables);
                withdraw(seats);
                return Err(error);
            }
            tables.version += 1;
            let mut places = seats.iter();
            for change in self.changes {
                match change {
                    Change::Remove(place, effect) => {
                        removed.push(out_of_layer(&mut tables, place.scope.as_ref(), |layer| {
                            layer.tools.remove(place.entry)
                        }));
                        spent.push(effect);
                    }
                    Change::Register(receiver, tool) => {
                        let Some((seat, _)) = places.next() else {
                            continue;
                        };
                        let mut seat = seat.lock();
                        if matches!(*seat, Seat::Undone) {
                            // Its fiber ended meanwhile: registered and disposed in one breath.
                            removed.push(Some(Some(tool)));
                            continue;
                        }
                        let name = tool.schema().shared_name();
                        let inserted = in_layer(&mut tables, receiver.scope(), |layer| {
                            layer.tools.insert(name, tool)
                        });
                        if let Ok(entry) = inserted {
                            *seat = Seat::Taken(ToolPlace {
                                scope: receiver.scope().cloned(),
                                entry,
                            });
                        }
                    }
                }
            }
        }
        for tool in removed {
            crate::contain::discard(tool);
        }
        for effect in spent {
            effect.dispose();
        }
        tools.notify_change();
        Ok(seats
            .into_iter()
            .map(|(seat, effect)| {
                let place = match &*seat.lock() {
                    Seat::Taken(place) => Some(place.clone()),
                    Seat::Planned | Seat::Undone => None,
                };
                Registration::new(effect, place)
            })
            .collect())
    }
}

/// Ends the undos of an update that is not made; they find nothing to undo.
fn withdraw(seats: Vec<(SharedSeat, Effect)>) {
    for (_, effect) in seats {
        effect.dispose();
    }
}

fn undo_seat(tools: &Tools, seat: &SharedSeat) -> impl FnOnce() + Send + 'static {
    let (registry, seat) = (Arc::downgrade(&tools.0), seat.clone());
    move || {
        let Seat::Taken(place) = std::mem::replace(&mut *seat.lock(), Seat::Undone) else {
            return;
        };
        let Some(registry) = registry.upgrade() else {
            return;
        };
        let removed = take_tool(&registry, &place);
        if removed.is_some() {
            crate::contain::discard(removed);
            Tools(registry).notify_change();
        }
    }
}

/// Whether every change can be made, each after those before it.
fn check(tables: &Tables, changes: &[Change]) -> Result<(), RegistryError> {
    let mut going: HashSet<(Option<ScopeId>, EntryId)> = HashSet::new();
    let mut coming: HashSet<(Option<ScopeId>, &str)> = HashSet::new();
    for change in changes {
        match change {
            Change::Remove(place, _) => {
                let scope = place.scope.as_ref().map(dsh_context::Scope::id);
                let layer = match scope {
                    None => Some(tables.layers.global()),
                    Some(scope) => tables.layers.exact(scope),
                };
                let exists =
                    layer.is_some_and(|layer| layer.tools.get_by_id(place.entry).is_some());
                if !exists || !going.insert((scope, place.entry)) {
                    return Err(RegistryError::stale(
                        "a tool that the update removes is gone already",
                    ));
                }
            }
            Change::Register(receiver, tool) => {
                let scope = receiver.scope().map(dsh_context::Scope::id);
                let layer = match scope {
                    None => Some(tables.layers.global()),
                    Some(scope) => tables.layers.exact(scope),
                };
                let taken = layer
                    .and_then(|layer| layer.tools.entry(tool.name()))
                    .is_some_and(|(entry, _)| !going.contains(&(scope, entry)));
                if taken || !coming.insert((scope, tool.name())) {
                    return Err(RegistryError::duplicate(tool.name(), scope.is_some()));
                }
            }
        }
    }
    Ok(())
}
