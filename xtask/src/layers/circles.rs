//! Files that need each other, and how high each stands above those that need nothing.

use super::tree::Edges;

/// A crate's files in layers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layers {
    /// For each layer from the bottom up: groups of files that need each other; most have one member.
    pub(super) layers: Vec<Vec<Vec<usize>>>,
}

impl Layers {
    /// Puts each file right above the highest that it uses.
    pub(super) fn of(files: usize, edges: &Edges) -> Self {
        let mut search = Search::new(files, edges);
        for file in 0..files {
            if search.order[file].is_none() {
                search.visit(file);
            }
        }
        // Groups are found from the bottom up: whatever a group uses has its height when its turn comes.
        let mut heights = vec![0_usize; files];
        let mut layers: Vec<Vec<Vec<usize>>> = Vec::new();
        for mut group in search.groups {
            let below = group
                .iter()
                .flat_map(|file| &search.uses[*file])
                .filter(|used| !group.contains(used))
                .map(|used| heights[*used] + 1)
                .max()
                .unwrap_or(0);
            for file in &group {
                heights[*file] = below;
            }
            if layers.len() <= below {
                layers.resize(below + 1, Vec::new());
            }
            group.sort_unstable();
            layers[below].push(group);
        }
        Self { layers }
    }

    /// Groups of more than one.
    pub(super) fn circles(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.layers.iter().flatten().filter(|group| group.len() > 1)
    }
}

/// Tarjan's search for strongly connected components.
struct Search {
    uses: Vec<Vec<usize>>,
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    next: usize,
    groups: Vec<Vec<usize>>,
}

impl Search {
    fn new(files: usize, edges: &Edges) -> Self {
        let mut uses = vec![Vec::new(); files];
        for (from, to) in edges.keys() {
            uses[*from].push(*to);
        }
        Self {
            uses,
            order: vec![None; files],
            low: vec![0; files],
            open: Vec::new(),
            is_open: vec![false; files],
            next: 0,
            groups: Vec::new(),
        }
    }

    fn visit(&mut self, file: usize) {
        let own = self.next;
        self.next += 1;
        self.order[file] = Some(own);
        self.low[file] = own;
        self.open.push(file);
        self.is_open[file] = true;
        for index in 0..self.uses[file].len() {
            let used = self.uses[file][index];
            match self.order[used] {
                None => {
                    self.visit(used);
                    self.low[file] = self.low[file].min(self.low[used]);
                }
                Some(order) if self.is_open[used] => self.low[file] = self.low[file].min(order),
                Some(_) => {}
            }
        }
        if self.low[file] == own {
            let start = self.open.iter().position(|open| *open == file).expect("it was opened above");
            let group = self.open.split_off(start);
            for member in &group {
                self.is_open[*member] = false;
            }
            self.groups.push(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(files: usize, pairs: &[(usize, usize)]) -> Vec<Vec<Vec<usize>>> {
        let edges = pairs.iter().map(|pair| (*pair, std::collections::BTreeSet::new())).collect();
        Layers::of(files, &edges).layers
    }

    #[test]
    fn each_stands_right_above_what_it_uses() {
        let found = layers(4, &[(0, 1), (0, 2), (1, 2)]);
        assert_eq!(found, [vec![vec![2], vec![3]], vec![vec![1]], vec![vec![0]]]);
    }

    #[test]
    fn a_circle_is_one_group() {
        let found = layers(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]);
        assert_eq!(found, [vec![vec![4]], vec![vec![1, 2, 3]], vec![vec![0]]]);
        let circles = Layers { layers: found };
        assert_eq!(circles.circles().collect::<Vec<_>>(), [&vec![1, 2, 3]]);
    }

    #[test]
    fn two_circles_stay_two() {
        let found = layers(4, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 2)]);
        assert_eq!(found, [vec![vec![2, 3]], vec![vec![0, 1]]]);
    }
}
