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

{{- define "taintkeeper.labels" -}}
{{ include "taintkeeper.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "taintkeeper.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}
