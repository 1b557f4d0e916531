{{/* Every object has this name: the webhook configurations have it too, and there can be only one of each. */}}
{{- define "taintkeeper.name" -}}taintkeeper{{- end -}}

{{/* Where taintkeeper keeps the certificates that it issues. */}}
{{- define "taintkeeper.ownSecret" -}}taintkeeper-certs{{- end -}}

{{/* The ConfigMap with the default policies. */}}
{{- define "taintkeeper.defaultPolicies" -}}taintkeeper-default-policies{{- end -}}

{{/* The Secret with a certificate from elsewhere; empty if there is none. */}}
{{- define "taintkeeper.foreignSecret" -}}
{{- if .Values.certificate.existingSecret -}}
{{- .Values.certificate.existingSecret -}}
{{- else if .Values.certificate.certManager.enabled -}}
taintkeeper-tls
{{- end -}}
{{- end -}}

{{/* What selects the pods: never changes, and no version is in it. */}}
{{- define "taintkeeper.selector" -}}
app.kubernetes.io/name: taintkeeper
app.kubernetes.io/component: webhook
{{- end -}}

{{/* One replica on each node, and in each zone. */}}
{{- define "taintkeeper.spreadTerms" -}}
{{- range $key, $weight := dict "kubernetes.io/hostname" 100 "topology.kubernetes.io/zone" 50 }}
- weight: {{ $weight }}
  podAffinityTerm:
    topologyKey: {{ $key }}
    labelSelector:
      matchLabels:
        {{- include "taintkeeper.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* Those of the pods. Not the chart's version: it alone is no reason to replace them. */}}
{{- define "taintkeeper.podLabels" -}}
{{ include "taintkeeper.selector" . }}
{{ include "taintkeeper.instanceLabels" . }}
{{- end -}}

{{- define "taintkeeper.instanceLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: taintkeeper
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{/* What Helm puts on its objects: left out of install.yaml (scripts/chart.ts). */}}
{{- define "taintkeeper.helmLabels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "taintkeeper.labels" -}}
{{ include "taintkeeper.podLabels" . }}
{{ include "taintkeeper.helmLabels" . }}
{{- end -}}

{{/* The annotation of a released chart pins the image of the release. It says nothing of the image of a mirror, or of another tag. */}}
{{- define "taintkeeper.image" -}}
{{- $released := "" -}}
{{- with .Chart.Annotations }}{{ $released = index . "taintkeeper.dev/image" | default "" }}{{ end -}}
{{- with .Values.image -}}
{{- $repository := required "image.repository is empty: name the image of taintkeeper, --set image.repository=REGISTRY/taintkeeper (docs/install.md, The image)" .repository -}}
{{- $tag := .tag | default $.Chart.AppVersion -}}
{{- if .digest -}}
{{ $repository }}@{{ .digest }}
{{- else if and (eq $tag $.Chart.AppVersion) (hasPrefix (printf "%s@" $repository) $released) -}}
{{ $released }}
{{- else -}}
{{ $repository }}:{{ $tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
What the plain listener binds: in the node's network loopback alone, which the kubelet's probes and port-forwards reach. Others could read
metrics at the node's address.
*/}}
{{- define "taintkeeper.adminHost" -}}
{{- if .Values.adminListenAddress -}}
{{ .Values.adminListenAddress }}
{{- else if .Values.hostNetwork -}}
{{ ternary "::1" "127.0.0.1" (contains ":" .Values.listenAddress) }}
{{- else -}}
{{ .Values.listenAddress }}
{{- end -}}
{{- end -}}

{{/* Whether an address reaches only the network namespace that it is in: "true", or empty. The kubelet's probes come from that of the node. */}}
{{- define "taintkeeper.isLoopback" -}}
{{- if or (hasPrefix "127." .) (has . (list "::1" "localhost")) -}}true{{- end -}}
{{- end -}}

{{/* What to say of a value that only an older chart's values lack: `helm upgrade --reuse-values` brings those. */}}
{{- define "taintkeeper.oldValues" -}}
{{ . }}: the values are those of an older chart, without the defaults of this one: use helm upgrade --reset-then-reuse-values, not --reuse-values
{{- end -}}

{{/* The rules of a role, as files/rights.yaml has them: a list of the context and the rules. */}}
{{- define "taintkeeper.rules" -}}
{{- $context := index . 0 -}}
{{- $name := include "taintkeeper.name" $context -}}
{{- $names := dict "namespace" $context.Release.Namespace "service" $name "lease" $name "configurations" $name "ownerClusterRole" $name
  "secret" (ternary "" (include "taintkeeper.ownSecret" $context) (ne (include "taintkeeper.foreignSecret" $context) ""))
  "defaultPolicies" (ternary (include "taintkeeper.defaultPolicies" $context) "" (not (empty $context.Values.defaultPolicies))) -}}
{{- range index . 1 }}
{{- if or (not .only) (get $names (default "" .only)) }}
  # {{ .why }}
  - apiGroups: {{ .apiGroups | toJson }}
    resources: {{ .resources | toJson }}
    verbs: {{ .verbs | toJson }}
    {{- with .named }}
    resourceNames: [{{ get $names . }}]
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}
