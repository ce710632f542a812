//! A bounded map of the newest entries that clients may come back to.

use std::collections::{HashMap, VecDeque};

/// Values by name. The oldest are dropped when there are too many.
#[derive(Debug)]
pub struct Index<T> {
    max: usize,
    values: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Index<T> {
    /// An index of at most `max` values.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), values: HashMap::new(), order: VecDeque::new() }
    }

    /// The value with this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.values.get(name)
    }

    /// All values, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.order.iter().filter_map(|name| Some((name.as_str(), self.values.get(name)?)))
    }

    /// Adds a value, replacing one with the same name.
    pub fn put(&mut self, name: String, value: T) {
        if self.values.insert(name.clone(), value).is_none() {
            self.order.push_back(name);
        }
        while self.order.len() > self.max {
            if let Some(oldest) = self.order.pop_front() {
                self.values.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Index;

    #[test]
    fn an_index_is_bounded_and_keeps_the_newest() {
        let mut index = Index::new(2);
        for number in 0..3 {
            index.put(format!("h{number}"), number);
        }
        index.put("h1".to_owned(), 7);
        assert_eq!((index.get("h0"), index.get("h1"), index.get("h2")), (None, Some(&7), Some(&2)));
        assert_eq!(index.iter().collect::<Vec<_>>(), [("h1", &7), ("h2", &2)]);
    }
}
