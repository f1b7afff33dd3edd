import type { ComponentChildren } from "preact";

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly numeric?: boolean;
}

interface Props<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** What is said when there are no rows. */
  readonly empty?: string;
}

/** A table that scrolls by itself where the window is too narrow. The first column names the row. */
export function Table<T>({ caption, columns, rows, rowKey, empty = "Nothing yet." }: Props<T>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="table" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.numeric ? "number" : undefined}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column, place) =>
                place === 0 ? (
                  <th key={column.title} scope="row">
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={column.numeric ? "number" : undefined}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="hint">{empty}</p>}
    </section>
  );
}
