/** A client of filemill: `convert` for the main job, `api` for everything else. */
export { type ClientOptions, type Converted, type ConvertOptions, createFilemill, type Filemill, type Source } from './client.ts';
export { FilemillError } from './error.ts';
