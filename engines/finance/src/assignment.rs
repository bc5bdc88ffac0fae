//! The assignment of rows to columns with the least cost (Kuhn 1955, in the form with potentials of Jonker and Volgenant),
//! on integers.

/// Returns for each row its column. There must be at least as many columns as rows; missing costs are very large.
pub(crate) fn assign(costs: &[Vec<i64>]) -> Vec<usize> {
    const FAR: i64 = i64::MAX / 4;
    let (rows, columns) = (costs.len(), costs.first().map_or(0, Vec::len));
    // Index 0 is a place outside; rows and columns count from 1.
    let mut row_price = vec![0_i64; rows + 1];
    let mut column_price = vec![0_i64; columns + 1];
    let mut owner = vec![0_usize; columns + 1];
    let mut way = vec![0_usize; columns + 1];
    let at = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(0);
    for row in 1..=rows {
        set(&mut owner, 0, row);
        let mut column = 0;
        let mut least = vec![FAR; columns + 1];
        let mut used = vec![false; columns + 1];
        loop {
            set(&mut used, column, true);
            let here = owner.get(column).copied().unwrap_or(0);
            let (mut delta, mut next) = (FAR, 0);
            for j in 1..=columns {
                if used.get(j).copied().unwrap_or(true) {
                    continue;
                }
                let cost = costs.get(here.wrapping_sub(1)).and_then(|c| c.get(j - 1)).copied().unwrap_or(FAR / 2);
                let reduced = cost - at(&row_price, here) - at(&column_price, j);
                if reduced < at(&least, j) {
                    set(&mut least, j, reduced);
                    set(&mut way, j, column);
                }
                if at(&least, j) < delta {
                    (delta, next) = (at(&least, j), j);
                }
            }
            if next == 0 {
                break;
            }
            for j in 0..=columns {
                if used.get(j).copied().unwrap_or(false) {
                    let of = owner.get(j).copied().unwrap_or(0);
                    row_price.get_mut(of).into_iter().for_each(|p| *p += delta);
                    column_price.get_mut(j).into_iter().for_each(|p| *p -= delta);
                } else {
                    least.get_mut(j).into_iter().for_each(|l| *l -= delta);
                }
            }
            column = next;
            if owner.get(column).copied().unwrap_or(0) == 0 {
                break;
            }
        }
        while column != 0 {
            let before = way.get(column).copied().unwrap_or(0);
            let moved = owner.get(before).copied().unwrap_or(0);
            set(&mut owner, column, moved);
            column = before;
        }
    }
    let mut out = vec![usize::MAX; rows];
    for (column, row) in owner.iter().enumerate().skip(1) {
        if let Some(row) = row.checked_sub(1) {
            set(&mut out, row, column - 1);
        }
    }
    out
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(to) = list.get_mut(at) {
        *to = value;
    }
}

#[cfg(test)]
mod tests {
    use super::assign;

    /// Every permutation of a square table.
    fn least(costs: &[Vec<i64>], row: usize, used: &mut Vec<usize>) -> i64 {
        if row == costs.len() {
            return 0;
        }
        let mut best = i64::MAX;
        for column in 0..costs[0].len() {
            if !used.contains(&column) {
                used.push(column);
                best = best.min(costs[row][column] + least(costs, row + 1, used));
                used.pop();
            }
        }
        best
    }

    #[test]
    fn the_cost_is_the_least_of_all_assignments() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as i64 % 50
        };
        for size in 1..=6 {
            for _ in 0..20 {
                let costs: Vec<Vec<i64>> = (0..size).map(|_| (0..=size).map(|_| next()).collect()).collect();
                let found = assign(&costs);
                let mut columns = found.clone();
                columns.sort_unstable();
                columns.dedup();
                assert_eq!(columns.len(), size);
                let cost: i64 = found.iter().enumerate().map(|(row, column)| costs[row][*column]).sum();
                assert_eq!(cost, least(&costs, 0, &mut Vec::new()));
            }
        }
    }
}
