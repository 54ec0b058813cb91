{{- define "filemill.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}{{ $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- end }}

{{/* Labels of all objects. */}}
{{- define "filemill.labels" -}}
app.kubernetes.io/name: filemill
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: filemill
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* (list . component): labels of a trial's server. Without versions: what an upgrade changed here would replace its pod, and with it all its data. */}}
{{- define "filemill.trialLabels" -}}
{{ include "filemill.selector" . }}
app.kubernetes.io/part-of: filemill
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* (list . component) */}}
{{- define "filemill.selector" -}}
app.kubernetes.io/name: filemill
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Pods of workers: the controller labels them, with the pool as their instance. */}}
{{- define "filemill.workers" -}}
app.kubernetes.io/name: filemill
app.kubernetes.io/component: worker
{{- end }}

{{/* (list . name): the image of a toolchain, or of app. */}}
{{- define "filemill.image" -}}
{{- $root := index . 0 -}}
{{- $registry := required "image.registry is required: filemill's images are not published; build them with make images, and push them there" $root.Values.image.registry -}}
{{- printf "%s/%s/%s:%s" $registry $root.Values.image.repository (index . 1) (default $root.Chart.AppVersion $root.Values.image.tag) -}}
{{- end }}

{{- define "filemill.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "filemill.secretName" -}}{{ default (printf "%s-keys" (include "filemill.fullname" .)) .Values.secrets.existingSecret }}{{- end }}
{{- define "filemill.egressSecret" -}}{{ default (printf "%s-egress" (include "filemill.fullname" .)) .Values.egress.existingSecret }}{{- end }}
{{- define "filemill.egressUrl" -}}http://{{ include "filemill.fullname" . }}-egress:8081{{- end }}
{{- define "filemill.s3Secret" -}}{{ if .Values.s3.trial.enabled }}{{ include "filemill.fullname" . }}-minio{{ else }}{{ .Values.s3.existingSecret }}{{ end }}{{- end }}

{{/* (list . user): the Secret of a NATS user; workers are called worker-<pool>. */}}
{{- define "filemill.natsSecret" -}}
{{- $root := index . 0 }}{{ $user := index . 1 -}}
{{- if $root.Values.nats.trial.enabled }}{{ include "filemill.fullname" $root }}-nats-{{ $user }}
{{- else if eq $user "api" }}{{ $root.Values.nats.apiSecret }}
{{- else if eq $user "controller" }}{{ $root.Values.nats.controllerSecret }}
{{- else }}{{ $root.Values.nats.workerSecret | replace "%s" (trimPrefix "worker-" $user) }}
{{- end }}
{{- end }}

{{- define "filemill.natsServers" -}}
{{- if .Values.nats.trial.enabled }}{{ list (printf "tls://%s-nats:4222" (include "filemill.fullname" .)) | toJson }}
{{- else if .Values.nats.servers }}{{ .Values.nats.servers | toJson }}
{{- else }}{{ fail "nats.servers is required, or nats.trial.enabled for a trial" }}{{ end }}
{{- end }}

{{- define "filemill.s3Endpoint" -}}
{{- if .Values.s3.trial.enabled }}https://{{ include "filemill.fullname" . }}-minio:9000{{ else }}{{ required "s3.endpoint is required, or s3.trial.enabled for a trial" .Values.s3.endpoint }}{{ end }}
{{- end }}

{{- define "filemill.natsCa" -}}{{ if .Values.nats.trial.enabled }}{{ include "filemill.fullname" . }}-nats-tls{{ else }}{{ .Values.nats.caSecret }}{{ end }}{{- end }}
{{- define "filemill.s3Ca" -}}{{ if .Values.s3.trial.enabled }}{{ include "filemill.fullname" . }}-minio-tls{{ else }}{{ .Values.s3.caSecret }}{{ end }}{{- end }}

{{/* Certificate authorities, as volumes, mounts and variables. Only ca.crt: the Secret may hold a key. */}}
{{- define "filemill.caVolumes" -}}
{{- with include "filemill.natsCa" . }}
- { name: nats-ca, secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] } }
{{- end }}
{{- with include "filemill.s3Ca" . }}
- { name: s3-ca, secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] } }
{{- end }}
{{- end }}
{{- define "filemill.caMounts" -}}
{{- if include "filemill.natsCa" . }}
- { name: nats-ca, mountPath: /etc/ssl/nats, readOnly: true }
{{- end }}
{{- if include "filemill.s3Ca" . }}
- { name: s3-ca, mountPath: /etc/ssl/s3, readOnly: true }
{{- end }}
{{- end }}
{{- define "filemill.caEnv" -}}
{{- if include "filemill.natsCa" . }}
- { name: NATS_CA, value: /etc/ssl/nats/ca.crt }
{{- end }}
{{- if include "filemill.s3Ca" . }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/ssl/s3/ca.crt }
{{- end }}
{{- end }}

{{- define "filemill.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- define "filemill.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* (list . component tolerations): replicas are spread, each revision by itself, or a rollout could end with all of them on one node; and a replica of a lost node is replaced after 30 s instead of 300. */}}
{{- define "filemill.placement" -}}
topologySpreadConstraints:
  {{- $root := index . 0 }}{{ $component := index . 1 }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "filemill.selector" (list $root $component) | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
tolerations:
  {{- range list "not-ready" "unreachable" }}
  - { key: node.kubernetes.io/{{ . }}, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
  {{- end }}
  {{- with index . 2 }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "filemill.priority" -}}
{{- $own := index . 1 }}{{ if $own }}{{ $own }}{{ else if (index . 0).Values.priorityClasses.create }}filemill-serving{{ end }}
{{- end }}

{{/* Settings of the roles that the chart itself runs. */}}
{{- define "filemill.settings" -}}
{{- $own := dict
  "nats" (dict "servers" (include "filemill.natsServers" . | fromJsonArray) "replicas" .Values.nats.replicas)
  "pools" (dict "source" "controller")
  "s3" (dict "endpoint" (include "filemill.s3Endpoint" .) "region" .Values.s3.region "bucket" .Values.s3.bucket "pathStyle" .Values.s3.pathStyle)
  "controller" (dict "lease" (printf "%s-controller" (include "filemill.fullname" .)) "allNamespaces" .Values.controller.allNamespaces)
  "api" (dict "publicUrl" (required "api.publicUrl is required: what clients reach the service by" .Values.api.publicUrl) "trustProxy" .Values.api.trustProxy) -}}
{{- if not .Values.egress.enabled }}{{ $_ := set $own "fetch" (dict "rest" false) }}{{ end -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.config)) }}
{{- end }}
