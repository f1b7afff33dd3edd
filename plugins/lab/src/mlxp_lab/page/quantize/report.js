/** The report of a quantization: what was lost, and how much each block hurts. */

import { madeModelOf } from "../jobs/model.js";

export function quantizedOf(kit) {
  const { html, hooks, app, Table, Plot, Facts, format } = kit;
  const MadeModel = madeModelOf(kit);

  return function Quantized({ job }) {
    const [told, setTold] = hooks.useState(null);
    hooks.useEffect(() => {
      app.api
        .json(`/api/quantize/report/${encodeURIComponent(job.id)}`)
        .then(setTold, (problem) => setTold({ problem }));
    }, [job.id]);
    return html`
      <${MadeModel} folder=${job.output} />
      ${told?.problem && html`<p class="hint error">${told.problem.message}</p>`}
      ${told?.report && html`<${Report} ...${told} />`}`;
  };

  function Report({ report, blocks }) {
    return html`
      <${Facts} facts=${{
        Packing: report.method === "mixed" ? "each module by what it hurts" : "all modules alike",
        Bits: `${report.bits_per_weight} a number, scales included`,
        Size: format.bytes(report.size_bytes),
        "Keys and values": report.kv_bits === null ? "" : `${report.kv_bits.toFixed(2)} bits`,
        Modules: widths(report.modules),
      }} />
      ${
        report.lines.length > 0 &&
        html`
        <h4>What was lost, on ${report.texts.held_out ?? "held-out texts"}</h4>
        <${Table} caption="What was lost" rows=${report.lines} rowKey=${(line) => line.name} columns=${LINES(format)} />`
      }
      ${Object.keys(blocks).length > 0 && html`<${Sensitivity} blocks=${blocks} />`}`;
  }

  function Sensitivity({ blocks }) {
    const xs = [...new Set(Object.values(blocks).flatMap((points) => points.map(([block]) => block)))].sort(
      (a, b) => a - b,
    );
    const series = Object.entries(blocks).map(([name, points]) => {
      const known = new Map(points);
      return { name, values: xs.map((block) => known.get(block) ?? null) };
    });
    return html`
      <figure class="curve">
        <figcaption>How much each block hurts when its worst module alone is packed, in nats</figcaption>
        <${Plot} label="Sensitivity by block" xs=${xs} series=${series} height=${220} unit=${(nats) => String(Number(nats.toPrecision(3)))} />
      </figure>`;
  }
}

/** "4bit-g64: 20, 8bit-g64: 3" */
function widths(modules) {
  const counts = new Map();
  for (const label of Object.values(modules)) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts]
    .sort()
    .map(([label, count]) => `${label}: ${count}`)
    .join(", ");
}

const LINES = (format) => [
  { title: "Network", cell: (line) => line.name },
  { title: "Bits", numeric: true, cell: (line) => line.bits_per_weight.toFixed(2) },
  { title: "Size", numeric: true, cell: (line) => format.bytes(line.size_bytes) },
  { title: "Perplexity", numeric: true, cell: (line) => line.perplexity.toPrecision(5) },
  { title: "KL, nats", numeric: true, cell: (line) => line.kl.toPrecision(3) },
  { title: "Same likeliest token", numeric: true, cell: (line) => format.percent(line.agreement) },
];
