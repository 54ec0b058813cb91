/** A picture of what was measured, as an SVG: a row for each work, a bar for each contender, by number of clients. */
import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import { median } from '../rows.ts';

export interface Rate {
  readonly work: string;
  readonly clients: number;
  readonly who: string;
  /** One figure a round. */
  readonly perSecond: readonly number[];
}

export async function chart(rates: readonly Rate[]): Promise<string> {
  const works = [...new Set(rates.map(({ work }) => work))];
  const spec: TopLevelSpec = {
    background: 'white',
    vconcat: works.map((work) => ({
      title: { text: work, anchor: 'start' as const },
      hconcat: [...Map.groupBy(ratesOf(rates, work), ({ clients }) => clients)].map(([clients, ofClients]) => ({
        width: 200,
        height: { step: 16 },
        data: { values: ofClients.map(bar) },
        encoding: { y: { field: 'who', type: 'nominal' as const, title: null, sort: null, axis: { labelLimit: 0 } } },
        layer: [
          {
            mark: 'bar' as const,
            encoding: {
              x: { field: 'rate', type: 'quantitative' as const, title: `a second, ${clients === 1 ? '1 client' : `${clients} clients`}` },
              color: { field: 'who', type: 'nominal' as const, legend: null, sort: null },
            },
          },
          { mark: 'rule' as const, encoding: { x: { field: 'least', type: 'quantitative' as const }, x2: { field: 'most' } } },
        ],
      })),
    })),
  };
  return new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG();
}

const ratesOf = (rates: readonly Rate[], work: string): readonly Rate[] => rates.filter((rate) => rate.work === work);

const bar = ({ who, perSecond }: Rate) => ({
  // Which commit it was is in the table.
  who: who.replace(/ [0-9a-f]{7,}(?=,|$)/, ''),
  rate: median(perSecond),
  least: Math.min(...perSecond),
  most: Math.max(...perSecond),
});
