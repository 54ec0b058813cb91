/** Calls of our program for tables with typed columns, `exec/programs/data/columns.ts`. */
import type { Binary } from '../engine.ts';
import { tableStep } from './data.ts';

export const COLUMNS: Binary = { at: ['program:data/columns.ts'], version: { args: ['--version'], pattern: /^columns (\d+\.\d+)/ } };

/** Formats whose columns have types. */
export const TYPED: readonly string[] = ['parquet', 'arrow', 'avro', 'sqlite'];

/** Needs the binary `columns`. @param input of the task's source, or a folder of rows @param output a folder for a file of each table */
export const columnsStep = tableStep('columns');
