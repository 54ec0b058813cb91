/** The parts of an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1) that ours uses. */
import type { Schema } from '../../catalog/options/field-schema.ts';

export type { Schema };

export interface SchemaRef {
  readonly $ref: string;
}

export interface HeaderSpec {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Parameter extends HeaderSpec {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly example?: unknown;
}

export interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
  readonly encoding?: Readonly<Record<string, { readonly contentType?: string }>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, SchemaRef>>;
  readonly content?: Readonly<Record<string, Media>>;
  /** Operations that a client may call next. */
  readonly links?: Readonly<Record<string, Link>>;
}

export interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | SchemaRef)[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response | SchemaRef>>;
}

export type HttpMethod = 'get' | 'head' | 'post' | 'patch' | 'delete' | 'options';
export type Paths = Readonly<Record<string, Readonly<Partial<Record<HttpMethod, Operation>>>>>;

export const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const headerRef = (name: string): SchemaRef => ({ $ref: `#/components/headers/${name}` });
export const parameterRef = (name: string): SchemaRef => ({ $ref: `#/components/parameters/${name}` });

/** The envelope of every success. */
export const envelope = (name: string): Schema => ({ type: 'object', properties: { data: schemaRef(name) }, required: ['data'] });
