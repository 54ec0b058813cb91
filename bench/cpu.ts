/** How much CPU time a process has had, in user and in kernel mode, looked at from outside (proc(5)). */
import { execFileSync } from 'node:child_process';
import { statOf, treeOf } from './processes.ts';

const TICK_MS = 1_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** @param ticks in user and in kernel mode */
const cpuIn = (ticks: readonly number[]): number => ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;

/** @returns ms, of all its threads since it started */
export const cpuOf = (pid: number): number => cpuIn(statOf(pid).slice(11, 13));

/** Of a process and its descendants, those included that ended and were waited for. @returns ms */
export const treeCpuOf = (pid: number): number => treeOf(pid, (fields) => cpuIn(fields.slice(11, 15))).tree;
