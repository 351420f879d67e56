//! How deep and how often a validator can run through a schema.
//!
//! A general validator recurses: into the value, and at one value through references and combinations. This bounds
//! both before anything recursive touches the schema, so that no schema can hang a caller or exhaust its stack.

/// Where a schema node leads.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    /// Nodes that judge the same value.
    pub(super) same: Vec<usize>,
    /// Nodes that judge members or elements; each of those meets one of them.
    pub(super) children: Vec<usize>,
    /// Nodes that judge members or elements besides.
    pub(super) also: Vec<usize>,
}

/// Times that one value may be judged on the way to one verdict.
const MAX_VISITS: f64 = 20_000.0;
/// Nodes in a row that may judge the same value.
const MAX_CHAIN: usize = 200;
/// Levels of a value for which the visits are counted; they do not get fewer below.
const COUNTED_LEVELS: usize = 64;

/// The bounds of one schema.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// Most nodes above each other for a value that is as deep as the schema can look; `None` when it looks without end.
    pub(super) depth: Option<usize>,
    /// Most nodes in a row at one value.
    pub(super) chain: usize,
    /// How often one value is judged on the way to a verdict, at most.
    pub(super) verdict_visits: f64,
    /// How often a value at each level is judged when nothing is remembered.
    visits: Vec<f64>,
}

impl Cost {
    pub(super) fn of(nodes: &[Edges]) -> Result<Self, String> {
        let Some(order) = in_place_order(nodes) else {
            return Err("schema has a reference that leads back to itself without entering a property or an item".into());
        };
        let mut chain = vec![1_usize; nodes.len()];
        for &node in &order {
            chain[node] = 1 + nodes[node]
                .same
                .iter()
                .map(|next| chain[*next])
                .max()
                .unwrap_or(0);
        }
        let chain = chain.into_iter().max().unwrap_or(1);
        if chain > MAX_CHAIN {
            return Err(format!(
                "schema chains {chain} references and combinations at one value; at most {MAX_CHAIN} are followed"
            ));
        }
        let (finished, backward) = finish_order(nodes);
        let depth = backward.iter().all(Vec::is_empty).then(|| {
            let mut depth = vec![1_usize; nodes.len()];
            for &node in &finished {
                depth[node] = 1 + all(&nodes[node]).map(|next| depth[next]).max().unwrap_or(0);
            }
            depth.into_iter().max().unwrap_or(1)
        });
        // Results at the targets of a cycle are remembered by the validator; what lies between them is not.
        let forward = visits(nodes, &order, &backward);
        let verdict_visits = forward.iter().copied().fold(1.0, f64::max);
        if verdict_visits > MAX_VISITS {
            return Err("schema combines its parts in more ways than can be checked".into());
        }
        let none = vec![Vec::new(); nodes.len()];
        let visits = if depth.is_some() {
            forward
        } else {
            visits(nodes, &order, &none)
        };
        Ok(Self {
            depth,
            chain,
            verdict_visits,
            visits,
        })
    }

    /// Most nodes above each other for a value of `levels` levels.
    pub(super) fn frames(&self, levels: usize) -> usize {
        let unbounded = self.chain * (levels + 1);
        self.depth.map_or(unbounded, |depth| depth.min(unbounded))
    }

    /// How often parts of a value of `levels` levels are judged when nothing is remembered.
    pub(super) fn visits(&self, levels: usize) -> f64 {
        let counted = self.visits.iter().take(levels + 1);
        counted.copied().fold(1.0, f64::max)
    }
}

fn all(edges: &Edges) -> impl Iterator<Item = usize> + '_ {
    edges
        .same
        .iter()
        .chain(&edges.children)
        .chain(&edges.also)
        .copied()
}

/// The nodes, each after all that it leads to at the same value; `None` when there is a cycle.
fn in_place_order(nodes: &[Edges]) -> Option<Vec<usize>> {
    let (order, backward) = depth_first(nodes.len(), |node| nodes[node].same.clone());
    backward.iter().all(Vec::is_empty).then_some(order)
}

/// The nodes, each after all that it leads to, and the edges that would close a cycle.
fn finish_order(nodes: &[Edges]) -> (Vec<usize>, Vec<Vec<usize>>) {
    depth_first(nodes.len(), |node| all(&nodes[node]).collect())
}

fn depth_first(count: usize, next: impl Fn(usize) -> Vec<usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; count];
    let mut order = Vec::with_capacity(count);
    let mut backward = vec![Vec::new(); count];
    for start in 0..count {
        if state[start] != State::New {
            continue;
        }
        state[start] = State::Open;
        let mut open = vec![(start, next(start))];
        while let Some((node, left)) = open.last_mut() {
            let node = *node;
            match left.pop() {
                Some(child) if state[child] == State::New => {
                    state[child] = State::Open;
                    open.push((child, next(child)));
                }
                Some(child) if state[child] == State::Open => backward[node].push(child),
                Some(_) => {}
                None => {
                    state[node] = State::Done;
                    order.push(node);
                    open.pop();
                }
            }
        }
    }
    (order, backward)
}

/// For every level below a value: how often a value there is judged on behalf of any one node.
fn visits(nodes: &[Edges], order: &[usize], without: &[Vec<usize>]) -> Vec<f64> {
    let mut above: Vec<f64> = Vec::new();
    let mut levels = Vec::new();
    for level in 0..COUNTED_LEVELS {
        let mut here = vec![0.0; nodes.len()];
        for &node in order {
            let followed = |next: &&usize| !without[node].contains(*next);
            let same: f64 = nodes[node]
                .same
                .iter()
                .filter(followed)
                .map(|next| here[*next])
                .sum();
            here[node] = same
                + if level == 0 {
                    1.0
                } else {
                    let below = |next: &usize| above[*next];
                    let most = nodes[node]
                        .children
                        .iter()
                        .filter(followed)
                        .map(below)
                        .fold(0.0, f64::max);
                    most + nodes[node]
                        .also
                        .iter()
                        .filter(followed)
                        .map(below)
                        .sum::<f64>()
                };
        }
        let most = here.iter().copied().fold(0.0, f64::max);
        if most == 0.0 {
            break;
        }
        levels.push(most);
        if most > 1e100 {
            break;
        }
        above = here;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(to: &[usize]) -> Edges {
        Edges {
            same: to.to_vec(),
            ..Edges::default()
        }
    }

    fn children(to: &[usize]) -> Edges {
        Edges {
            children: to.to_vec(),
            ..Edges::default()
        }
    }

    #[test]
    fn a_cycle_without_progress_is_refused() {
        assert!(Cost::of(&[same(&[0])]).is_err());
        assert!(Cost::of(&[same(&[1]), same(&[2]), same(&[1])]).is_err());
        let through_a_child = Cost::of(&[children(&[1]), same(&[0])]).unwrap();
        assert_eq!((through_a_child.depth, through_a_child.chain), (None, 2));
        assert_eq!(through_a_child.frames(10), 22);
    }

    #[test]
    fn doubling_at_one_value_is_refused_however_small_the_schema() {
        let ladder = |rungs: usize| {
            (0..rungs)
                .map(|rung| {
                    if rung + 1 < rungs {
                        same(&[rung + 1, rung + 1])
                    } else {
                        Edges::default()
                    }
                })
                .collect::<Vec<_>>()
        };
        assert!(Cost::of(&ladder(10)).is_ok());
        assert!(Cost::of(&ladder(30)).is_err());
    }

    #[test]
    fn doubling_at_every_level_is_counted_for_the_value_at_hand() {
        let tree = [
            children(&[1]),
            same(&[2, 3]),
            children(&[1]),
            children(&[1]),
        ];
        let cost = Cost::of(&tree).unwrap();
        assert_eq!(cost.depth, None);
        assert!(cost.visits(3) < 100.0, "{}", cost.visits(3));
        assert!(cost.visits(40) > 1e9);
    }
}
