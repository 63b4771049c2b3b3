//! What a corpus takes, part by part.

use serde::Serialize;

use super::demand::{Demand, Embedding};
use super::entry::{Basis, Entry, Part, Unit};
use super::error::CapacityError;
use super::estimate::Estimate;
use super::growth::{BUILD, BUILD_PEAK, GRAPH, Growing, Growth, P50, P99, RESIDENT, SEARCH};
use super::measurements::{Measurements, TextRow};
use crate::plan::line::Line;

/// Bytes by which a passage that is its own document is found: where its line starts, where its document's line and
/// passages start, and its document's place among the hashes of ids.
const OFFSET_BYTES: f64 = 8.0 + 16.0 + 12.0;

/// The name of the sum of a part.
const TOTAL: &str = "total";

/// Hours of a month.
const MONTH_HOURS: f64 = 730.0;

/// What a corpus takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// What for.
    pub demand: Demand,
    /// All numbers, by part.
    pub entries: Vec<Entry>,
    /// Whether the machine's memory holds what a search needs, up to the upper end of its interval; `None` if either is
    /// not known.
    pub search_fits: Option<bool>,
    /// The memory of a job that builds one shard.
    pub building_fits: Option<bool>,
    /// The growth that the numbers are from.
    pub growth: Vec<Growth>,
}

impl Capacity {
    /// What a corpus takes, from what was measured at smaller sizes.
    ///
    /// # Errors
    /// A number of the demand that is out of its range, a recall that was not measured.
    pub fn of(demand: &Demand, measurements: &Measurements) -> Result<Self, CapacityError> {
        demand.check()?;
        let mut needs = Needs {
            demand,
            measurements,
            entries: Vec::new(),
            growth: Vec::new(),
        };
        let disk = needs.disk()?;
        let memory = needs.memory()?;
        let building = needs.building()?;
        let work = needs.work()?;
        let (cores, machines) = needs.search()?;
        needs.once(&work);
        needs.month(disk, memory, cores, machines);
        let fits = |needed: Option<Estimate>| Some(needed?.high <= demand.machine.memory?);
        Ok(Self {
            demand: demand.clone(),
            entries: needs.entries,
            search_fits: fits(memory),
            building_fits: fits(building),
            growth: needs.growth,
        })
    }
}

/// The part, the name and the unit of a number.
type Named = (Part, &'static str, Unit);

/// Hours of work; `None` if some of them are not known.
struct Work {
    cores: Option<Estimate>,
    gpus: Option<Estimate>,
}

/// The numbers of a plan while it is made.
struct Needs<'a> {
    demand: &'a Demand,
    measurements: &'a Measurements,
    entries: Vec<Entry>,
    growth: Vec<Growth>,
}

impl Needs<'_> {
    fn add(&mut self, (part, name, unit): Named, estimate: Estimate, basis: Basis) -> Estimate {
        self.entries.push(Entry {
            part,
            name,
            unit,
            estimate,
            basis,
        });
        estimate
    }

    /// Adds a number that is computed, if it is known.
    fn add_computed(&mut self, entry: Named, estimate: Option<Estimate>) -> Option<Estimate> {
        Some(self.add(entry, estimate?, Basis::Computed))
    }

    /// Adds a quantity that grows, times a factor, from that of one shard; `None` if it was not measured.
    fn add_grown(
        &mut self,
        entry: Named,
        growing: &Growing,
        factor: f64,
    ) -> Result<Option<Estimate>, CapacityError> {
        let demand = self.demand;
        let dimensions = demand.dimensions.get();
        let Some(growth) = Growth::of(growing, self.measurements, dimensions, demand.recall)?
        else {
            return Ok(None);
        };
        let vectors = self.passages() / self.shards();
        let source = &self.measurements.growth.source;
        let basis = Basis::fitted(source, vectors, growth.vectors.map(|size| size as f64));
        let estimate = growth.at(vectors) * factor;
        self.growth.push(growth);
        Ok(Some(self.add(entry, estimate, basis)))
    }

    fn passages(&self) -> f64 {
        self.demand.passages.get() as f64
    }

    fn shards(&self) -> f64 {
        f64::from(self.demand.shards.get())
    }

    /// Bytes of all passages that grow with their words.
    fn add_texts(&mut self, entry: Named, bytes: fn(&TextRow) -> f64) -> Option<Estimate> {
        let texts = &self.measurements.texts;
        let points: Vec<(f64, f64)> = texts
            .rows
            .iter()
            .map(|row| (row.words, bytes(row)))
            .collect();
        let line = Line::through(&points)?;
        let words = self.demand.words;
        let [low, high] = line.interval_at(words)?;
        let value = line.at(words);
        let each = Estimate { value, low, high }.rising(|bytes| bytes.max(0.0));
        let lengths = points.iter().map(|(words, _)| *words);
        let ends = [
            lengths.clone().fold(f64::INFINITY, f64::min),
            lengths.fold(0.0, f64::max),
        ];
        let basis = Basis::fitted(&texts.source, words, ends);
        Some(self.add(entry, each * self.passages(), basis))
    }

    fn add_lexical(&mut self, part: Part) -> Option<Estimate> {
        self.add_texts((part, "lexical index", Unit::Bytes), |row| {
            row.lexical_bytes
        })
    }

    fn disk(&mut self) -> Result<Option<Estimate>, CapacityError> {
        let of = |name| (Part::Disk, name, Unit::Bytes);
        let (passages, shards) = (self.passages(), self.shards());
        let dimensions = self.demand.dimensions.get() as usize;
        let vectors = passages * self.demand.vectors.row_bytes(dimensions) as f64;
        let parts = [
            self.add_texts(of("texts, ids and titles"), |row| row.text_bytes),
            self.add_lexical(Part::Disk),
            self.add_computed(
                of("offsets"),
                Some(Estimate::exact(passages * OFFSET_BYTES)),
            ),
            self.add_computed(of("vectors"), Some(Estimate::exact(vectors))),
            self.add_grown(of("graphs and codes"), &GRAPH, shards)?,
        ];
        Ok(self.add_computed(of(TOTAL), sum(&parts)))
    }

    fn memory(&mut self) -> Result<Option<Estimate>, CapacityError> {
        let of = |name| (Part::Memory, name, Unit::Bytes);
        let live = Estimate::exact(self.passages() / 8.0);
        let parts = [
            self.add_grown(of("graphs and codes"), &RESIDENT, self.shards())?,
            self.add_lexical(Part::Memory),
            self.add_computed(of("which passages are live"), Some(live)),
        ];
        Ok(self.add_computed(of(TOTAL), sum(&parts)))
    }

    fn building(&mut self) -> Result<Option<Estimate>, CapacityError> {
        let of = |name| (Part::Building, name, Unit::Bytes);
        let graph = self.add_grown(of("graph"), &BUILD_PEAK, 1.0)?;
        let writer = &self.measurements.lexical_writer;
        let measured = writer.estimate();
        let source = writer.source();
        let writer = measured.map(|estimate| {
            let basis = Basis::Measured { source };
            self.add(of("lexical index, at most"), estimate, basis)
        });
        let both = graph.zip(writer);
        let larger = both.map(|(graph, writer)| graph.with(writer, f64::max));
        Ok(self.add_computed(of("the larger of both"), larger))
    }

    fn work(&mut self) -> Result<Work, CapacityError> {
        let of = |name| (Part::Work, name, Unit::CoreHours);
        let (embedding, is_by_gpu) = self.embedding();
        let graphs = self.add_grown(of("building graphs"), &BUILD, self.shards() / 3600.0)?;
        let probing = self.probing();
        let by_cores = (!is_by_gpu).then_some(embedding);
        let parts: Vec<Option<Estimate>> = by_cores
            .into_iter()
            .chain([graphs])
            .chain(self.demand.probed.map(|_| probing))
            .collect();
        let cores = self.add_computed(of(TOTAL), sum(&parts));
        if let (Some(hours), Some(machine)) = (cores, self.demand.machine.cores) {
            let hours = hours * f64::from(machine.get()).recip();
            let entry = (Part::Work, "on all cores of one machine", Unit::Hours);
            self.add_computed(entry, Some(hours));
        }
        let gpus = if is_by_gpu {
            embedding
        } else {
            Some(Estimate::exact(0.0))
        };
        Ok(Work { cores, gpus })
    }

    /// The hours of embedding, and whether they are those of a GPU.
    fn embedding(&mut self) -> (Option<Estimate>, bool) {
        let measured = &self.measurements.embedding;
        let given = |rate| (Some(Estimate::exact(rate)), Basis::Given);
        let (unit, (rate, basis)) = match self.demand.embedding {
            Some(Embedding::PerGpu(rate)) => (Unit::GpuHours, given(rate)),
            Some(Embedding::PerCore(rate)) => (Unit::CoreHours, given(rate)),
            None => {
                let source = measured.source();
                let basis = Basis::Measured { source };
                (Unit::CoreHours, (measured.estimate(), basis))
            }
        };
        let passages = self.passages();
        let hours = rate.map(|rate| rate.time_for(passages) * 3600_f64.recip());
        let entry = (Part::Work, "embedding", unit);
        let hours = hours.map(|hours| self.add(entry, hours, basis));
        (hours, unit == Unit::GpuHours)
    }

    /// The core hours of probing, if there are questions to be probed.
    fn probing(&mut self) -> Option<Estimate> {
        let questions = self.demand.probed?.get() as f64;
        let measured = &self.measurements.probing;
        let (each, basis) = match self.demand.probe_core_s {
            Some(seconds) => (Estimate::exact(seconds), Basis::Given),
            None => {
                let source = measured.source();
                (measured.estimate()?, Basis::Measured { source })
            }
        };
        let entry = (Part::Work, "probing questions", Unit::CoreHours);
        Some(self.add(entry, each * (questions / 3600.0), basis))
    }

    /// Times of a search; returns the cores that search, and the machines that they are in.
    fn search(&mut self) -> Result<(Option<Estimate>, Option<Estimate>), CapacityError> {
        let of = |name, unit| (Part::Search, name, unit);
        let shards = self.shards();
        self.add_grown(of("p50", Unit::Ms), &P50, shards)?;
        self.add_grown(of("p99, at most", Unit::Ms), &P99, shards)?;
        let each = self.add_grown(of("one search", Unit::CoreS), &SEARCH, shards)?;
        let rate = each.map(|each| each.time_for(1.0));
        self.add_computed(of("one core serves", Unit::QueriesPerS), rate);
        let wanted = self.demand.queries_per_s;
        let busy = each.zip(wanted).map(|(each, wanted)| each * wanted);
        let busy = self.add_computed(of("cores that search", Unit::Cores), busy);
        let machine = self
            .demand
            .machine
            .cores
            .map(|cores| f64::from(cores.get()));
        let machines = busy
            .zip(machine)
            .map(|(busy, cores)| busy.rising(|busy| (busy / cores).ceil()));
        let machines = self.add_computed(of("machines that search", Unit::Machines), machines);
        let paid = machines
            .zip(machine)
            .map(|(machines, cores)| machines * cores);
        Ok((paid.or(busy), machines))
    }

    /// Adds the price of the work.
    fn once(&mut self, work: &Work) {
        let prices = self.demand.prices;
        let parts = [(work.cores, prices.core_hour), (work.gpus, prices.gpu_hour)];
        self.add_price("work, once", &parts);
    }

    /// Adds the price of a month in which the corpus is served.
    fn month(
        &mut self,
        disk: Option<Estimate>,
        memory: Option<Estimate>,
        cores: Option<Estimate>,
        machines: Option<Estimate>,
    ) {
        let Demand {
            prices,
            machine,
            queries_per_s,
            ..
        } = self.demand;
        let core_hour = queries_per_s.map_or(0.0, |_| prices.core_hour);
        let machines = machines.unwrap_or(Estimate::exact(1.0));
        let memory = machine.memory.map(Estimate::exact).or(memory);
        let gigabytes = |bytes: Option<Estimate>| Some(bytes? * machines * 1e-9);
        let hours = cores.map(|cores| cores * MONTH_HOURS);
        let parts = [
            (gigabytes(memory), prices.memory_gb),
            (gigabytes(disk), prices.disk_gb),
            (hours, core_hour),
        ];
        self.add_price("serving, a month", &parts);
    }

    /// Adds the sum of what has a price, if there is any and all of it is known.
    fn add_price(&mut self, name: &'static str, parts: &[(Option<Estimate>, f64)]) {
        let priced = parts.iter().filter(|(_, price)| *price > 0.0);
        let priced: Vec<Option<Estimate>> = priced
            .map(|(amount, price)| Some((*amount)? * *price))
            .collect();
        if !priced.is_empty() {
            self.add_computed((Part::Money, name, Unit::Money), sum(&priced));
        }
    }
}

/// The sum; `None` if a part is not known.
fn sum(parts: &[Option<Estimate>]) -> Option<Estimate> {
    let mut parts = parts.iter();
    parts.try_fold(Estimate::exact(0.0), |sum, part| Some(sum + (*part)?))
}
