//! The reading order of the runs of a page.

use super::line::Line;
use super::run::Run;

/// Runs are on one line if their heights differ by less than this share of the smaller font size.
const SAME_LINE: f32 = 0.6;
/// Runs one above the other are on two lines if their heights differ by more than this share.
const NEXT_LINE: f32 = 0.35;
/// The most runs of a row with which each run is compared.
const MOST_COMPARED: usize = 64;
/// A gap of this share of the font size separates cells of a row, or columns.
const CELL: f32 = 0.9;
/// A gutter between columns, which is a gap in all rows, is at least this wide.
const GUTTER: f32 = 0.7;
/// Columns of text have lines of this many characters, and this many lines at least.
const COLUMN_CHARACTERS: usize = 18;
const COLUMN_LINES: usize = 3;
/// Text beside a table has longer lines, and more of them.
const TEXT_CHARACTERS: usize = 30;
const TEXT_LINES: usize = 5;
/// Lists in columns have shorter lines, but more of them, and are drawn column by column.
const LIST_CHARACTERS: usize = 8;
const LIST_LINES: usize = 12;
/// Pieces on the same line differ in height by less than this share of the font size.
const ON_LINE: f32 = 0.1;
/// The most columns side by side.
const MOST_COLUMNS: usize = 32;
/// How deep columns may nest.
const DEEPEST: usize = 6;

/// Runs with small gaps between them.
struct Piece<'a> {
    runs: Vec<&'a Run>,
    start: f32,
    end: f32,
    /// The font size at its end.
    size: f32,
    /// The place of its first run in the order of drawing.
    drawn: usize,
}

impl Piece<'_> {
    fn characters(&self) -> usize {
        let characters = |run: &&Run| run.text.chars().count() + run.gaps.len();
        self.runs.iter().map(characters).sum()
    }
}

/// The pieces at one height.
struct Row<'a> {
    pieces: Vec<Piece<'a>>,
    place: f32,
    size: f32,
}

/// The lines in the order of reading.
pub(super) fn lines(runs: &[Run]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    arrange(rows(runs), 0, &mut lines);
    lines
}

/// The rows from top to bottom.
fn rows(runs: &[Run]) -> Vec<Row<'_>> {
    let mut sorted: Vec<(usize, &Run)> = runs.iter().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| a.place.total_cmp(&b.place));
    let mut rows = Vec::new();
    let mut rest = sorted.as_slice();
    while let Some((_, first)) = rest.first() {
        let is_beside = |(_, run): &&(usize, &Run)| {
            run.place - first.place <= SAME_LINE * first.size.min(run.size)
        };
        let is_free = |index: usize| {
            let before = rest.iter().take(index.min(MOST_COMPARED));
            let run = rest.get(index).map(|(_, run)| run);
            run.is_none_or(|run| before.clone().all(|(_, other)| !stand_over(other, run)))
        };
        let beside = rest.iter().take_while(|run| is_beside(run)).enumerate();
        let count = beside
            .take_while(|&(index, _)| is_free(index))
            .count()
            .max(1);
        let (row, others) = rest.split_at(count);
        rows.push(self::row(row));
        rest = others;
    }
    rows
}

/// Whether the second run, though near the first, is on the next line, since it starts under it.
fn stand_over(first: &Run, second: &Run) -> bool {
    let (size, width) = (first.size.min(second.size), second.end - second.start);
    let common = first.end.min(second.end) - first.start.max(second.start);
    second.place - first.place > NEXT_LINE * size
        && 2.0 * common > width.min(first.end - first.start)
}

fn row<'a>(runs: &[(usize, &'a Run)]) -> Row<'a> {
    let mut runs = runs.to_vec();
    runs.sort_by(|(_, a), (_, b)| a.start.total_cmp(&b.start));
    let size = runs.iter().map(|(_, run)| run.size).fold(0.0, f32::max);
    // The height of most of its text: marks above and below are short.
    let longest = runs
        .iter()
        .max_by(|(_, a), (_, b)| (a.end - a.start).total_cmp(&(b.end - b.start)));
    let place = longest.map_or(0.0, |(_, run)| run.place);
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    for (drawn, run) in runs {
        match pieces.last_mut() {
            Some(piece) if run.start - piece.end <= CELL * run.size.min(piece.size) => {
                piece.runs.push(run);
                piece.size = run.size;
                piece.end = piece.end.max(run.end);
                piece.drawn = piece.drawn.min(drawn);
            }
            _ => pieces.push(Piece {
                runs: vec![run],
                start: run.start,
                end: run.end,
                size: run.size,
                drawn,
            }),
        }
    }
    Row {
        pieces,
        place,
        size,
    }
}

/// The parts of a block that text covers, from left to right, with gutters between them.
#[derive(Default)]
struct Cover(Vec<(f32, f32)>);

impl Cover {
    /// Adds the pieces of a row; pieces closer than a gutter become one part.
    fn add(&self, row: &Row<'_>) -> Self {
        let pieces = row.pieces.iter().map(|piece| (piece.start, piece.end));
        let mut parts: Vec<(f32, f32)> = self.0.iter().copied().chain(pieces).collect();
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut merged: Vec<(f32, f32)> = Vec::new();
        for (start, end) in parts {
            match merged.last_mut() {
                Some(last) if start - last.1 <= GUTTER * row.size => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        if merged.len() > MOST_COLUMNS {
            merged = vec![(merged[0].0, merged[merged.len() - 1].1)];
        }
        Self(merged)
    }

    fn columns(&self) -> usize {
        self.0.len()
    }

    /// The column of a piece.
    fn column(&self, piece: &Piece<'_>) -> usize {
        let starts_after = |part: &&(f32, f32)| part.0 <= piece.start;
        let before = self.0.iter().take_while(starts_after).count();
        before.saturating_sub(1)
    }
}

/// Appends the lines of rows: of blocks whose columns have gutters all the way down, and of the rows
/// between such blocks.
fn arrange<'a>(rows: Vec<Row<'a>>, depth: usize, lines: &mut Vec<Line<'a>>) {
    let mut block: Vec<Row<'a>> = Vec::new();
    let mut cover = Cover::default();
    for row in rows {
        let wider = cover.add(&row);
        let is_parted = row.pieces.len() > 1 && row.pieces.len() <= MOST_COLUMNS;
        // The row closes all gutters, or has gutters while the rows so far have none.
        let ends = wider.columns() == 1 && (cover.columns() > 1 || is_parted);
        if ends && !block.is_empty() {
            finish(std::mem::take(&mut block), &cover, depth, lines);
            cover = Cover::default().add(&row);
        } else {
            cover = wider;
        }
        block.push(row);
    }
    finish(block, &cover, depth, lines);
}

/// Appends the lines of a block.
fn finish<'a>(block: Vec<Row<'a>>, cover: &Cover, depth: usize, lines: &mut Vec<Line<'a>>) {
    if cover.columns() > 1 && depth < DEEPEST {
        if let Some(groups) = groups(&block, cover) {
            for group in parted(block, cover, &groups) {
                arrange(group, depth + 1, lines);
            }
            return;
        }
        if is_drawn_in_order(&block) {
            return lines.extend(as_drawn(block));
        }
    }
    lines.extend(block.into_iter().map(|row| Line {
        pieces: row.pieces.into_iter().map(|piece| piece.runs).collect(),
        place: row.place,
        size: row.size,
    }));
}

/// The rows of each group of columns.
fn parted<'a>(block: Vec<Row<'a>>, cover: &Cover, groups: &[usize]) -> Vec<Vec<Row<'a>>> {
    let mut parts: Vec<Vec<Row<'a>>> = Vec::new();
    parts.resize_with(groups.last().map_or(0, |last| last + 1), Vec::new);
    for row in block {
        for piece in row.pieces {
            let group = groups.get(cover.column(&piece));
            let Some(part) = group.and_then(|&group| parts.get_mut(group)) else {
                continue;
            };
            match part.last_mut() {
                Some(last) if last.place == row.place => last.pieces.push(piece),
                _ => part.push(row_of(piece, row.place, row.size)),
            }
        }
    }
    parts
}

fn row_of(piece: Piece<'_>, place: f32, size: f32) -> Row<'_> {
    Row {
        pieces: vec![piece],
        place,
        size,
    }
}

/// The content of a column of a block.
#[derive(Default)]
struct Column {
    /// The characters of its pieces.
    characters: Vec<usize>,
    /// The numbers among its pieces.
    numbers: Vec<u32>,
    /// The first and the last of its pieces in the order of drawing.
    drawn: Option<(usize, usize)>,
    /// The places of its pieces.
    places: Vec<f32>,
}

impl Column {
    fn add(&mut self, piece: &Piece<'_>) {
        self.characters.push(piece.characters());
        if let [run] = piece.runs.as_slice() {
            self.numbers.extend(run.text.trim().parse::<u32>().ok());
        }
        self.places.extend(piece.runs.first().map(|run| run.place));
        let (first, last) = self.drawn.unwrap_or((piece.drawn, piece.drawn));
        self.drawn = Some((first.min(piece.drawn), last.max(piece.drawn)));
    }

    /// Whether it has at least `lines` lines, and half of them at least `least` characters.
    fn has(&self, lines: usize, least: usize) -> bool {
        let long = self.characters.iter().filter(|&&count| count >= least);
        self.characters.len() >= lines && 2 * long.count() >= self.characters.len()
    }

    /// Whether it numbers the lines beside it.
    fn counts(&self) -> bool {
        let steps = self.numbers.windows(2);
        let even = steps.filter(|pair| pair[0].checked_add(1) == Some(pair[1]));
        let even = even.count() + 1;
        even >= COLUMN_LINES && 5 * even >= 4 * self.characters.len()
    }

    /// Whether it is separate from a column of text, like the labels of a figure: it is drawn
    /// before or after the lines of that column, and at other heights.
    fn is_apart(&self, text: &Self, size: f32) -> bool {
        let (Some((first, last)), Some((text_first, text_last))) = (self.drawn, text.drawn) else {
            return false;
        };
        let is_on_line = |place: &&f32| {
            let next = text.places.partition_point(|line| line < *place);
            let lines = text
                .places
                .get(next.saturating_sub(1)..)
                .unwrap_or_default();
            let near = |line: &f32| (*line - **place).abs() < ON_LINE * size;
            lines.iter().take(2).any(near)
        };
        let on_lines = self.places.iter().filter(is_on_line).count();
        (last < text_first || text_last < first) && 2 * on_lines < self.places.len()
    }
}

/// The groups of columns that are read one after another, by column; `None` if rows are read.
fn groups(block: &[Row<'_>], cover: &Cover) -> Option<Vec<usize>> {
    let mut columns: Vec<Column> = Vec::new();
    columns.resize_with(cover.columns(), Column::default);
    for piece in block.iter().flat_map(|row| &row.pieces) {
        if let Some(column) = columns.get_mut(cover.column(piece)) {
            column.add(piece);
        }
    }
    let all_have = |lines, least| columns.iter().all(|column| column.has(lines, least));
    let one_by_one = || {
        let mut pairs = columns
            .windows(2)
            .map(|pair| (pair[0].drawn, pair[1].drawn));
        pairs.all(|(left, right)| left.map(|(_, last)| last) < right.map(|(first, _)| first))
    };
    if all_have(COLUMN_LINES, COLUMN_CHARACTERS)
        || (all_have(LIST_LINES, LIST_CHARACTERS) && one_by_one())
    {
        return Some((0..columns.len()).collect());
    }
    // Columns beside columns of text are read on their own, as rows.
    let is_text = |column: &Column| column.has(TEXT_LINES, TEXT_CHARACTERS);
    let texts: Vec<&Column> = columns.iter().filter(|column| is_text(column)).collect();
    let size = block.first().map_or(0.0, |row| row.size);
    let may_part = match texts.as_slice() {
        [] => false,
        [text] => {
            let mut others = columns.iter().filter(|column| !is_text(column));
            others.all(|column| column.counts() || column.is_apart(text, size))
        }
        _ => true,
    };
    if !may_part {
        return None;
    }
    let mut group = 0;
    let mut groups = vec![0];
    for pair in columns.windows(2) {
        let is_same = pair
            .iter()
            .all(|column| !is_text(column) && !column.counts());
        group += usize::from(!is_same);
        groups.push(group);
    }
    Some(groups)
}

/// Whether the pieces of a block are drawn from top to bottom, except for cells of several lines
/// side by side.
fn is_drawn_in_order(block: &[Row<'_>]) -> bool {
    let (Some(first), Some(last)) = (block.first(), block.last()) else {
        return true;
    };
    let mut places: Vec<(usize, f32)> = block
        .iter()
        .flat_map(|row| row.pieces.iter().map(|piece| (piece.drawn, row.place)))
        .collect();
    places.sort_unstable_by_key(|&(drawn, _)| drawn);
    let steps = places.windows(2).map(|pair| pair[0].1 - pair[1].1);
    let highest = steps.fold(0.0, f32::max);
    highest < 0.5 * (last.place - first.place)
}

/// The pieces of a block in the order of drawing; consecutive ones of a row are a line.
fn as_drawn(block: Vec<Row<'_>>) -> Vec<Line<'_>> {
    let mut pieces: Vec<(Piece<'_>, f32, f32)> = Vec::new();
    for row in block {
        let (place, size) = (row.place, row.size);
        pieces.extend(row.pieces.into_iter().map(|piece| (piece, place, size)));
    }
    pieces.sort_by_key(|(piece, ..)| piece.drawn);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut end = f32::MIN;
    for (piece, place, size) in pieces {
        let start = piece.start;
        let next_end = piece.end;
        match lines.last_mut() {
            Some(line) if line.place == place && start >= end => line.pieces.push(piece.runs),
            _ => lines.push(Line {
                pieces: vec![piece.runs],
                place,
                size,
            }),
        }
        end = next_end;
    }
    lines
}
