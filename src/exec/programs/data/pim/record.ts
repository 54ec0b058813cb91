/** A card or an entry of a calendar as a record: what each target writes. */
import type { Datum } from '../values/value.ts';
import type { Component, Property } from './lines.ts';

/** One of several, such as a number and whether it is at work. */
export interface Typed {
  readonly type: string;
  readonly value: string;
}
export type Field = string | boolean | readonly string[] | readonly Typed[];

export interface PimRecord {
  readonly title: string;
  /** By the names of columns, always the same ones in the same order. */
  readonly fields: Readonly<Record<string, Field>>;
  /** A `data:` URL. */
  readonly picture?: string;
}

export const named = ({ properties }: Component, name: string): readonly Property[] => properties.filter((each) => each.name === name);

/** The text of its first one; empty where there is none. */
export const firstText = (component: Component, name: string): string => {
  const [first] = named(component, name);
  return first === undefined ? '' : valueText(first);
};

/** All parts of a value as one text. */
export const valueText = ({ values }: Property): string => values.map(flat).filter(Boolean).join(', ');

/** The parts of a structured value, by their places. */
export const valueParts = ({ values }: Property): readonly string[] => {
  const [first] = values;
  return Array.isArray(first) ? first.map(flat) : values.map(flat);
};

const flat = (value: unknown): string => (Array.isArray(value) ? value.map(flat).filter(Boolean).join(', ') : String(value ?? '').trim());

/** For JSON. */
export const asDatum = (field: Field): Datum => field as Datum;

/** In one cell or line. */
export function asLine(field: Field): string {
  if (typeof field === 'boolean') return field ? 'true' : 'false';
  if (typeof field === 'string') return field;
  return field.map((each) => (typeof each === 'string' ? each : each.type === '' ? each.value : `${each.type}: ${each.value}`)).join('; ');
}
