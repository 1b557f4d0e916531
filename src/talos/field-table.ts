// Made by scripts/talos-fields.ts: change that, not this file.
// Sources: the Go types of github.com/siderolabs/talos/pkg/machinery v1.3.0, v1.3.7, v1.4.0, v1.4.8, v1.5.0, v1.5.6, v1.6.0, v1.6.8, v1.7.0, v1.7.7, v1.8.0, v1.8.4, v1.9.0, v1.9.6, v1.10.0, v1.10.9, v1.11.0, v1.11.6, v1.12.0, v1.12.11, v1.13.0, v1.13.9, v1.14.1, v1.15-ad8823176,
// and of k8s.io/kubelet v0.26.0, v0.27.1, v0.28.0, v0.29.0, v0.30.0, v0.31.1, v0.32.0, v0.33.0, v0.34.0, v0.35.0, v0.35.3, v0.36.3, v0.37.0.

/**
 * The fields of every document that Talos 1.3 to 1.15 reads, one a line: path, versions (minor; `-` is all, an empty end "from the first" or
 * "to the last"), type, `!minor` since when it is deprecated, and what took its place (`-` is nothing at all). Paths begin with the document's kind,
 * or with v1alpha1 for the one without; `*` is any item of a list or any key of a mapping. Types are those of fieldsOfTypes in
 * scripts/talos-go-types.ts; after a comma, `minor:type` is that of a later version.
 */
export const FIELD_TABLE = `
BGPInstanceConfig 14- struct
BGPInstanceConfig.advertise 14- []text
BGPInstanceConfig.apiVersion 14- text
BGPInstanceConfig.importRoutes 14- []struct
BGPInstanceConfig.importRoutes.*.bgpInstance 14- text
BGPInstanceConfig.importRoutes.*.prefixes 14- []text
BGPInstanceConfig.installRoutes 14- bool
BGPInstanceConfig.kind 14- text
BGPInstanceConfig.localASN 14- uint
BGPInstanceConfig.maxPaths 14- uint
BGPInstanceConfig.multipath 14- bool
BGPInstanceConfig.name 14- text
BGPInstanceConfig.neighbors 14- []struct
BGPInstanceConfig.neighbors.*.address 14- text
BGPInstanceConfig.neighbors.*.bfd 14- struct
BGPInstanceConfig.neighbors.*.bfd.detectMultiplier 14- uint
BGPInstanceConfig.neighbors.*.bfd.receiveInterval 14- duration
BGPInstanceConfig.neighbors.*.bfd.transmitInterval 14- duration
BGPInstanceConfig.neighbors.*.holdTime 14- duration
BGPInstanceConfig.neighbors.*.link 14- text
BGPInstanceConfig.neighbors.*.localASN 14- uint
BGPInstanceConfig.neighbors.*.passive 14- bool
BGPInstanceConfig.neighbors.*.peerASN 14- uint
BGPInstanceConfig.routeSource 14- text
BGPInstanceConfig.routerID 14- text
BGPInstanceConfig.vrf 14- text
BlackholeRouteConfig 13- struct
BlackholeRouteConfig.apiVersion 13- text
BlackholeRouteConfig.kind 13- text
BlackholeRouteConfig.metric 13- uint
BlackholeRouteConfig.name 13- text
BondConfig 12- struct
BondConfig.adActorSysPrio 12- uint
BondConfig.adLACPActive 12- text
BondConfig.adSelect 12- text
BondConfig.adUserPortKey 12- uint
BondConfig.addresses 12- []struct
BondConfig.addresses.*.address 12- text
BondConfig.addresses.*.routePriority 12- uint
BondConfig.allSlavesActive 12- uint
BondConfig.apiVersion 12- text
BondConfig.arpAllTargets 12- text
BondConfig.arpInterval 12- uint
BondConfig.arpIpTargets 12- []text
BondConfig.arpValidate 12- text
BondConfig.bondMode 12- text
BondConfig.downdelay 12- uint
BondConfig.failOverMac 12- text
BondConfig.hardwareAddr 12- text
BondConfig.kind 12- text
BondConfig.lacpRate 12- text
BondConfig.links 12- []text
BondConfig.lpInterval 12- uint
BondConfig.miimon 12- uint
BondConfig.minLinks 12- uint
BondConfig.missedMax 12- uint
BondConfig.mtu 12- uint
BondConfig.multicast 12- bool
BondConfig.name 12- text
BondConfig.nsIp6Targets 12- []text
BondConfig.numPeerNotif 12- uint
BondConfig.packetsPerSlave 12- uint
BondConfig.peerNotifDelay 12- uint
BondConfig.primary 15- text
BondConfig.primaryReselect 12- text
BondConfig.resendIGMP 12- uint
BondConfig.routes 12- []struct
BondConfig.routes.*.destination 12- text
BondConfig.routes.*.gateway 12- text
BondConfig.routes.*.metric 12- uint
BondConfig.routes.*.mtu 12- uint
BondConfig.routes.*.source 12- text
BondConfig.routes.*.table 12- text
BondConfig.tlbLogicalLb 12- uint
BondConfig.up 12- bool
BondConfig.updelay 12- uint
BondConfig.useCarrier 12- bool
BondConfig.xmitHashPolicy 12- text
BridgeConfig 12- struct
BridgeConfig.addresses 12- []struct
BridgeConfig.addresses.*.address 12- text
BridgeConfig.addresses.*.routePriority 12- uint
BridgeConfig.apiVersion 12- text
BridgeConfig.hardwareAddr 12- text
BridgeConfig.kind 12- text
BridgeConfig.links 12- []text
BridgeConfig.mtu 12- uint
BridgeConfig.multicast 12- bool
BridgeConfig.name 12- text
BridgeConfig.routes 12- []struct
BridgeConfig.routes.*.destination 12- text
BridgeConfig.routes.*.gateway 12- text
BridgeConfig.routes.*.metric 12- uint
BridgeConfig.routes.*.mtu 12- uint
BridgeConfig.routes.*.source 12- text
BridgeConfig.routes.*.table 12- text
BridgeConfig.stp 12- value
BridgeConfig.stp.enabled 12- bool
BridgeConfig.up 12- bool
BridgeConfig.vlan 12- value
BridgeConfig.vlan.filtering 12- bool
CRIBaseRuntimeSpecConfig 14- struct
CRIBaseRuntimeSpecConfig.apiVersion 14- text
CRIBaseRuntimeSpecConfig.kind 14- text
CRIBaseRuntimeSpecConfig.overrides 14- {}any
CRICustomizationConfig 14- struct
CRICustomizationConfig.apiVersion 14- text
CRICustomizationConfig.content 14- text
CRICustomizationConfig.kind 14- text
CRICustomizationConfig.name 14- text
ContainerConfig 14- struct
ContainerConfig.apiVersion 14- text
ContainerConfig.args 14- []text
ContainerConfig.dependsOn 14- struct
ContainerConfig.dependsOn.containers 14- []text
ContainerConfig.dependsOn.networks 14- []text
ContainerConfig.dependsOn.paths 14- []text
ContainerConfig.dependsOn.time 14- bool
ContainerConfig.entrypoint 14- []text
ContainerConfig.environment 14- []text
ContainerConfig.image 14- text
ContainerConfig.kind 14- text
ContainerConfig.mounts 14- []struct
ContainerConfig.mounts.*.hostPath 14- struct
ContainerConfig.mounts.*.hostPath.destination 14- text
ContainerConfig.mounts.*.hostPath.options 14- []text
ContainerConfig.mounts.*.hostPath.source 14- text
ContainerConfig.mounts.*.tmpfs 14- struct
ContainerConfig.mounts.*.tmpfs.destination 14- text
ContainerConfig.mounts.*.tmpfs.options 14- []text
ContainerConfig.mounts.*.tmpfs.size 14- text
ContainerConfig.mounts.*.userVolume 14- struct
ContainerConfig.mounts.*.userVolume.destination 14- text
ContainerConfig.mounts.*.userVolume.name 14- text
ContainerConfig.mounts.*.userVolume.options 14- []text
ContainerConfig.name 14- text
ContainerConfig.network 14- struct
ContainerConfig.network.mode 14- text
ContainerConfig.resources 14- struct
ContainerConfig.resources.limits 14- struct
ContainerConfig.resources.limits.cpu 14- text
ContainerConfig.resources.limits.memory 14- text
ContainerConfig.runAs 14- struct
ContainerConfig.runAs.gid 14- int
ContainerConfig.runAs.uid 14- int
ContainerConfig.security 14- struct
ContainerConfig.security.capabilities 14- struct
ContainerConfig.security.capabilities.add 14- []text
ContainerConfig.security.capabilities.drop 14- []text
ContainerConfig.security.machinedAccess 14- bool
ContainerConfig.security.profile 14- text
ContainerConfig.workingDir 14- text
DHCPv4Config 12- struct
DHCPv4Config.apiVersion 12- text
DHCPv4Config.clientIdentifier 12- text
DHCPv4Config.duidRaw 12- text
DHCPv4Config.ignoreHostname 12- bool
DHCPv4Config.ignoreRoutes 14- bool
DHCPv4Config.kind 12- text
DHCPv4Config.name 12- text
DHCPv4Config.routeMetric 12- uint
DHCPv6Config 12- struct
DHCPv6Config.apiVersion 12- text
DHCPv6Config.clientIdentifier 12- text
DHCPv6Config.duidRaw 12- text
DHCPv6Config.ignoreHostname 12- bool
DHCPv6Config.kind 12- text
DHCPv6Config.name 12- text
DHCPv6Config.routeMetric 12- uint
DiscoveryIdentityConfig 14- struct
DiscoveryIdentityConfig.apiVersion 14- text
DiscoveryIdentityConfig.clusterID 14- text
DiscoveryIdentityConfig.clusterSecret 14- text
DiscoveryIdentityConfig.kind 14- text
DiscoveryServiceConfig 14- struct
DiscoveryServiceConfig.apiVersion 14- text
DiscoveryServiceConfig.endpoint 14- text
DiscoveryServiceConfig.kind 14- text
DiscoveryServiceConfig.name 14- text
DummyLinkConfig 12- struct
DummyLinkConfig.addresses 12- []struct
DummyLinkConfig.addresses.*.address 12- text
DummyLinkConfig.addresses.*.routePriority 12- uint
DummyLinkConfig.apiVersion 12- text
DummyLinkConfig.hardwareAddr 12- text
DummyLinkConfig.kind 12- text
DummyLinkConfig.mtu 12- uint
DummyLinkConfig.multicast 12- bool
DummyLinkConfig.name 12- text
DummyLinkConfig.routes 12- []struct
DummyLinkConfig.routes.*.destination 12- text
DummyLinkConfig.routes.*.gateway 12- text
DummyLinkConfig.routes.*.metric 12- uint
DummyLinkConfig.routes.*.mtu 12- uint
DummyLinkConfig.routes.*.source 12- text
DummyLinkConfig.routes.*.table 12- text
DummyLinkConfig.up 12- bool
EnvironmentConfig 13- struct
EnvironmentConfig.apiVersion 13- text
EnvironmentConfig.kind 13- text
EnvironmentConfig.variables 13- {}text
EtcFileConfig 14- struct
EtcFileConfig.apiVersion 14- text
EtcFileConfig.contents 14- text
EtcFileConfig.kind 14- text
EtcFileConfig.mode 14- uint
EtcFileConfig.name 14- text
EthernetConfig 10- struct
EthernetConfig.apiVersion 10- text
EthernetConfig.channels 10- struct
EthernetConfig.channels.combined 10- uint
EthernetConfig.channels.other 10- uint
EthernetConfig.channels.rx 10- uint
EthernetConfig.channels.tx 10- uint
EthernetConfig.features 10- {}bool
EthernetConfig.kind 10- text
EthernetConfig.name 10- text
EthernetConfig.rings 10- struct
EthernetConfig.rings.cqe-size 10- uint
EthernetConfig.rings.rx 10- uint
EthernetConfig.rings.rx-buf-len 10- uint
EthernetConfig.rings.rx-jumbo 10- uint
EthernetConfig.rings.rx-mini 10- uint
EthernetConfig.rings.rx-push 10- bool
EthernetConfig.rings.tcp-data-split 10- bool
EthernetConfig.rings.tx 10- uint
EthernetConfig.rings.tx-push 10- bool
EthernetConfig.rings.tx-push-buf-len 10- uint
EthernetConfig.wakeOnLan 12- []text
EventSinkConfig 5- struct
EventSinkConfig.apiVersion 5- text
EventSinkConfig.endpoint 5- text
EventSinkConfig.kind 5- text
ExistingVolumeConfig 11- struct
ExistingVolumeConfig.apiVersion 11- text
ExistingVolumeConfig.discovery 11- value
ExistingVolumeConfig.discovery.volumeSelector 11- value
ExistingVolumeConfig.discovery.volumeSelector.match 11- text
ExistingVolumeConfig.kind 11- text
ExistingVolumeConfig.mount 11- value
ExistingVolumeConfig.mount.disableAccessTime 13- bool
ExistingVolumeConfig.mount.readOnly 11- bool
ExistingVolumeConfig.mount.secure 13- bool
ExistingVolumeConfig.name 11- text
ExistingVolumeConfig.scrub 14- struct
ExistingVolumeConfig.scrub.enabled 14- bool
ExistingVolumeConfig.scrub.interval 14- duration
ExistingVolumeConfig.trim 14- struct
ExistingVolumeConfig.trim.enabled 14- bool
ExistingVolumeConfig.trim.interval 14- duration
ExtensionServiceConfig 7- struct
ExtensionServiceConfig.apiVersion 7- text
ExtensionServiceConfig.configFiles 7- []struct
ExtensionServiceConfig.configFiles.*.content 7- text
ExtensionServiceConfig.configFiles.*.mountPath 7- text
ExtensionServiceConfig.environment 7- []text
ExtensionServiceConfig.kind 7- text
ExtensionServiceConfig.name 7- text
ExternalVolumeConfig 13- struct
ExternalVolumeConfig.apiVersion 13- text
ExternalVolumeConfig.filesystemType 13- text
ExternalVolumeConfig.kind 13- text
ExternalVolumeConfig.mount 13- value
ExternalVolumeConfig.mount.disableAccessTime 13- bool
ExternalVolumeConfig.mount.readOnly 13- bool
ExternalVolumeConfig.mount.secure 13- bool
ExternalVolumeConfig.mount.virtiofs 13- struct
ExternalVolumeConfig.mount.virtiofs.tag 13- text
ExternalVolumeConfig.name 13- text
FilesystemScrubConfig 14- struct
FilesystemScrubConfig.apiVersion 14- text
FilesystemScrubConfig.interval 14- duration
FilesystemScrubConfig.kind 14- text
FilesystemTrimConfig 14- struct
FilesystemTrimConfig.apiVersion 14- text
FilesystemTrimConfig.interval 14- duration
FilesystemTrimConfig.kind 14- text
HCloudVIPConfig 12- struct
HCloudVIPConfig.apiToken 12- text
HCloudVIPConfig.apiVersion 12- text
HCloudVIPConfig.kind 12- text
HCloudVIPConfig.link 12- text
HCloudVIPConfig.name 12- text
HTTPProbeConfig 14- struct
HTTPProbeConfig.apiVersion 14- text
HTTPProbeConfig.failureThreshold 14- int
HTTPProbeConfig.interval 14- duration
HTTPProbeConfig.kind 14- text
HTTPProbeConfig.name 14- text
HTTPProbeConfig.timeout 14- duration
HTTPProbeConfig.url 14- text
HostnameConfig 12- struct
HostnameConfig.apiVersion 12- text
HostnameConfig.auto 12- text
HostnameConfig.hostname 12- text
HostnameConfig.kind 12- text
ImageCacheConfig 14- struct
ImageCacheConfig.apiVersion 14- text
ImageCacheConfig.kind 14- text
ImageCacheConfig.local 14- value
ImageCacheConfig.local.enabled 14- bool
ImageVerificationConfig 13- struct
ImageVerificationConfig.apiVersion 13- text
ImageVerificationConfig.kind 13- text
ImageVerificationConfig.rules 13- []struct
ImageVerificationConfig.rules.*.deny 13- bool
ImageVerificationConfig.rules.*.image 13- text
ImageVerificationConfig.rules.*.keyless 13- struct
ImageVerificationConfig.rules.*.keyless.issuer 13- text
ImageVerificationConfig.rules.*.keyless.subject 13- text
ImageVerificationConfig.rules.*.keyless.subjectRegex 13- text
ImageVerificationConfig.rules.*.publicKey 13- struct
ImageVerificationConfig.rules.*.publicKey.certificate 13- text
ImageVerificationConfig.rules.*.skip 13- bool
KernelModuleConfig 14- struct
KernelModuleConfig.apiVersion 14- text
KernelModuleConfig.kind 14- text
KernelModuleConfig.name 14- text
KernelModuleConfig.parameters 14- []text
KmsgLogConfig 5- struct
KmsgLogConfig.apiVersion 5- text
KmsgLogConfig.kind 5- text
KmsgLogConfig.name 5- text
KmsgLogConfig.url 5- text
KubeAPIServerCAConfig 14- struct
KubeAPIServerCAConfig.acceptedCAs 14- []text
KubeAPIServerCAConfig.apiVersion 14- text
KubeAPIServerCAConfig.issuingCA 14- struct
KubeAPIServerCAConfig.issuingCA.cert 14- text
KubeAPIServerCAConfig.issuingCA.key 14- text
KubeAPIServerCAConfig.kind 14- text
KubeAPIServerConfig 14- struct
KubeAPIServerConfig.apiPort 14- int
KubeAPIServerConfig.apiVersion 14- text
KubeAPIServerConfig.certExtraSANs 14- []text
KubeAPIServerConfig.env 14- {}text
KubeAPIServerConfig.extraArgs 14- {}arg
KubeAPIServerConfig.image 14- text
KubeAPIServerConfig.kind 14- text
KubeAPIServerConfig.resources 14- value
KubeAPIServerConfig.resources.limits 14- {}any
KubeAPIServerConfig.resources.requests 14- {}any
KubeAPIServerConfig.startupProbes 14- bool
KubeAdmissionControlConfig 14- struct
KubeAdmissionControlConfig.apiVersion 14- text
KubeAdmissionControlConfig.configuration 14- {}any
KubeAdmissionControlConfig.kind 14- text
KubeAdmissionControlConfig.name 14- text
KubeAggregatorCAConfig 14- struct
KubeAggregatorCAConfig.acceptedCAs 14- []text
KubeAggregatorCAConfig.apiVersion 14- text
KubeAggregatorCAConfig.issuingCA 14- struct
KubeAggregatorCAConfig.issuingCA.cert 14- text
KubeAggregatorCAConfig.issuingCA.key 14- text
KubeAggregatorCAConfig.kind 14- text
KubeAuditPolicyConfig 14- struct
KubeAuditPolicyConfig.apiVersion 14- text
KubeAuditPolicyConfig.configuration 14- {}any
KubeAuditPolicyConfig.kind 14- text
KubeAuthenticationConfig 14- struct
KubeAuthenticationConfig.apiVersion 14- text
KubeAuthenticationConfig.configuration 14- {}any
KubeAuthenticationConfig.kind 14- text
KubeAuthorizerConfig 14- struct
KubeAuthorizerConfig.apiVersion 14- text
KubeAuthorizerConfig.kind 14- text
KubeAuthorizerConfig.name 14- text
KubeAuthorizerConfig.type 14- text
KubeAuthorizerConfig.webhook 14- {}any
KubeClusterConfig 14- struct
KubeClusterConfig.apiVersion 14- text
KubeClusterConfig.clusterName 14- text
KubeClusterConfig.endpoint 14- text
KubeClusterConfig.kind 14- text
KubeControllerManagerConfig 14- struct
KubeControllerManagerConfig.apiVersion 14- text
KubeControllerManagerConfig.enabled 14- bool
KubeControllerManagerConfig.env 14- {}text
KubeControllerManagerConfig.extraArgs 14- {}arg
KubeControllerManagerConfig.image 14- text
KubeControllerManagerConfig.kind 14- text
KubeControllerManagerConfig.resources 14- value
KubeControllerManagerConfig.resources.limits 14- {}any
KubeControllerManagerConfig.resources.requests 14- {}any
KubeCoreDNSConfig 14- struct
KubeCoreDNSConfig.apiVersion 14- text
KubeCoreDNSConfig.enabled 14- bool
KubeCoreDNSConfig.image 14- text
KubeCoreDNSConfig.kind 14- text
KubeCredentialProviderConfig 14- struct
KubeCredentialProviderConfig.apiVersion 14- text
KubeCredentialProviderConfig.configuration 14- {}any
KubeCredentialProviderConfig.kind 14- text
KubeEtcdEncryptionConfig 14- struct
KubeEtcdEncryptionConfig.apiVersion 14- text
KubeEtcdEncryptionConfig.config 14- {}any
KubeEtcdEncryptionConfig.kind 14- text
KubeExternalManifestConfig 14- struct
KubeExternalManifestConfig.apiVersion 14- text
KubeExternalManifestConfig.headers 14- {}text
KubeExternalManifestConfig.kind 14- text
KubeExternalManifestConfig.name 14- text
KubeExternalManifestConfig.url 14- text
KubeFlannelCNIConfig 14- struct
KubeFlannelCNIConfig.apiVersion 14- text
KubeFlannelCNIConfig.backendExtraConfig 14- {}any
KubeFlannelCNIConfig.backendMTU 14- uint
KubeFlannelCNIConfig.backendPort 14- uint
KubeFlannelCNIConfig.backendType 14- text
KubeFlannelCNIConfig.extraArgs 14- []text
KubeFlannelCNIConfig.kind 14- text
KubeFlannelCNIConfig.kubeNetworkPoliciesEnabled 14- bool
KubeFlannelCNIConfig.resources 14- value
KubeFlannelCNIConfig.resources.limits 14- {}any
KubeFlannelCNIConfig.resources.requests 14- {}any
KubeInlineManifestConfig 14- struct
KubeInlineManifestConfig.apiVersion 14- text
KubeInlineManifestConfig.kind 14- text
KubeInlineManifestConfig.manifest 14- text
KubeInlineManifestConfig.name 14- text
KubeNetworkConfig 14- struct
KubeNetworkConfig.apiVersion 14- text
KubeNetworkConfig.dnsDomain 14- text
KubeNetworkConfig.kind 14- text
KubeNetworkConfig.nodeCIDRMaskSizeIPv4 14- int
KubeNetworkConfig.nodeCIDRMaskSizeIPv6 14- int
KubeNetworkConfig.podSubnets 14- []text
KubeNetworkConfig.serviceSubnets 14- []text
KubeNodeConfig 14- struct
KubeNodeConfig.annotations 14- {}text
KubeNodeConfig.apiVersion 14- text
KubeNodeConfig.kind 14- text
KubeNodeConfig.labels 14- {}text
KubeNodeConfig.nodeIP 14- value
KubeNodeConfig.nodeIP.validSubnets 14- []text
KubeNodeConfig.registerWithFQDN 14- bool
KubeNodeConfig.skipNodeRegistration 14- bool
KubeNodeConfig.taints 14- {}text
KubePrismConfig 14- struct
KubePrismConfig.apiVersion 14- text
KubePrismConfig.kind 14- text
KubePrismConfig.port 14- int
KubePrismConfig.tlsServerName 14- text
KubeProxyConfig 14- struct
KubeProxyConfig.apiVersion 14- text
KubeProxyConfig.config 14- {}any
KubeProxyConfig.enabled 14- bool
KubeProxyConfig.extraArgs 14- {}arg
KubeProxyConfig.image 14- text
KubeProxyConfig.kind 14- text
KubeProxyConfig.mode 14- text
KubeProxyConfig.resources 14- value
KubeProxyConfig.resources.limits 14- {}any
KubeProxyConfig.resources.requests 14- {}any
KubeSchedulerConfig 14- struct
KubeSchedulerConfig.apiVersion 14- text
KubeSchedulerConfig.config 14- {}any
KubeSchedulerConfig.enabled 14- bool
KubeSchedulerConfig.env 14- {}text
KubeSchedulerConfig.extraArgs 14- {}arg
KubeSchedulerConfig.image 14- text
KubeSchedulerConfig.kind 14- text
KubeSchedulerConfig.resources 14- value
KubeSchedulerConfig.resources.limits 14- {}any
KubeSchedulerConfig.resources.requests 14- {}any
KubeServiceAccountConfig 14- struct
KubeServiceAccountConfig.accepted 14- value
KubeServiceAccountConfig.accepted.audiences 14- []text
KubeServiceAccountConfig.accepted.issuers 14- []text
KubeServiceAccountConfig.accepted.publicKeys 14- []text
KubeServiceAccountConfig.apiVersion 14- text
KubeServiceAccountConfig.issuer 14- value
KubeServiceAccountConfig.issuer.issuerURL 14- text
KubeServiceAccountConfig.issuer.privateKey 14- text
KubeServiceAccountConfig.kind 14- text
KubeSpanConfig 13- struct
KubeSpanConfig.advertiseKubernetesNetworks 13- bool
KubeSpanConfig.allowDownPeerBypass 13- bool
KubeSpanConfig.apiVersion 13- text
KubeSpanConfig.enabled 13- bool
KubeSpanConfig.filters 13- struct
KubeSpanConfig.filters.endpoints 13- []text
KubeSpanConfig.filters.excludeAdvertisedNetworks 13- []text
KubeSpanConfig.harvestExtraEndpoints 13- bool
KubeSpanConfig.kind 13- text
KubeSpanConfig.mtu 13- uint
KubeSpanEndpointsConfig 8- struct
KubeSpanEndpointsConfig.apiVersion 8- text
KubeSpanEndpointsConfig.extraAnnouncedEndpoints 8- []text
KubeSpanEndpointsConfig.kind 8- text
KubeStaticPodConfig 14- struct
KubeStaticPodConfig.apiVersion 14- text
KubeStaticPodConfig.kind 14- text
KubeStaticPodConfig.name 14- text
KubeStaticPodConfig.pod 14- {}any
KubeTalosAPIAccessConfig 14- struct
KubeTalosAPIAccessConfig.allowedKubernetesNamespaces 14- []text
KubeTalosAPIAccessConfig.allowedRoles 14- []text
KubeTalosAPIAccessConfig.apiVersion 14- text
KubeTalosAPIAccessConfig.kind 14- text
KubeletConfig 14- struct
KubeletConfig.apiVersion 14- text
KubeletConfig.clusterDNS 14- []text
KubeletConfig.config 14- {}any
KubeletConfig.defaultRuntimeSeccompProfileEnabled 14- bool
KubeletConfig.extraArgs 14- {}arg
KubeletConfig.image 14- text
KubeletConfig.kind 14- text
LVMLogicalVolumeConfig 14- struct
LVMLogicalVolumeConfig.apiVersion 14- text
LVMLogicalVolumeConfig.kind 14- text
LVMLogicalVolumeConfig.mirrors 14- uint
LVMLogicalVolumeConfig.name 14- text
LVMLogicalVolumeConfig.provisioning 14- value
LVMLogicalVolumeConfig.provisioning.maxSize 14- text
LVMLogicalVolumeConfig.provisioning.minSize 14- text
LVMLogicalVolumeConfig.provisioning.volumeGroup 14- text
LVMLogicalVolumeConfig.stripes 14- uint
LVMLogicalVolumeConfig.type 14- text
LVMVolumeGroupConfig 14- struct
LVMVolumeGroupConfig.apiVersion 14- text
LVMVolumeGroupConfig.kind 14- text
LVMVolumeGroupConfig.name 14- text
LVMVolumeGroupConfig.provisioning 14- value
LVMVolumeGroupConfig.provisioning.volumeSelector 14- value
LVMVolumeGroupConfig.provisioning.volumeSelector.match 14- text
Layer2VIPConfig 12- struct
Layer2VIPConfig.apiVersion 12- text
Layer2VIPConfig.kind 12- text
Layer2VIPConfig.link 12- text
Layer2VIPConfig.name 12- text
LinkAliasConfig 12- struct
LinkAliasConfig.apiVersion 12- text
LinkAliasConfig.kind 12- text
LinkAliasConfig.name 12- text
LinkAliasConfig.selector 12- value
LinkAliasConfig.selector.match 12- text
LinkConfig 12- struct
LinkConfig.addresses 12- []struct
LinkConfig.addresses.*.address 12- text
LinkConfig.addresses.*.routePriority 12- uint
LinkConfig.apiVersion 12- text
LinkConfig.kind 12- text
LinkConfig.mtu 12- uint
LinkConfig.multicast 12- bool
LinkConfig.name 12- text
LinkConfig.routes 12- []struct
LinkConfig.routes.*.destination 12- text
LinkConfig.routes.*.gateway 12- text
LinkConfig.routes.*.metric 12- uint
LinkConfig.routes.*.mtu 12- uint
LinkConfig.routes.*.source 12- text
LinkConfig.routes.*.table 12- text
LinkConfig.up 12- bool
NetworkDefaultActionConfig 6- struct
NetworkDefaultActionConfig.apiVersion 6- text
NetworkDefaultActionConfig.ingress 6- text
NetworkDefaultActionConfig.kind 6- text
NetworkRuleConfig 6- struct
NetworkRuleConfig.apiVersion 6- text
NetworkRuleConfig.ingress 6- []struct
NetworkRuleConfig.ingress.*.except 6- text
NetworkRuleConfig.ingress.*.subnet 6- text
NetworkRuleConfig.kind 6- text
NetworkRuleConfig.name 6- text
NetworkRuleConfig.portSelector 6- value
NetworkRuleConfig.portSelector.ports 6- []text
NetworkRuleConfig.portSelector.protocol 6- text
OOMConfig 12- struct
OOMConfig.apiVersion 12- text
OOMConfig.cgroupRankingExpression 12- text
OOMConfig.kind 12- text
OOMConfig.sampleInterval 12- duration
OOMConfig.strictCgroupClassOrdering 12- bool
OOMConfig.triggerExpression 12- text
PCIDriverRebindConfig 10- struct
PCIDriverRebindConfig.apiVersion 10- text
PCIDriverRebindConfig.kind 10- text
PCIDriverRebindConfig.name 10- text
PCIDriverRebindConfig.targetDriver 10- text
RAIDArrayConfig 14- struct
RAIDArrayConfig.apiVersion 14- text
RAIDArrayConfig.kind 14- text
RAIDArrayConfig.level 14- text
RAIDArrayConfig.metadata 14- text
RAIDArrayConfig.name 14- text
RAIDArrayConfig.provisioning 14- value
RAIDArrayConfig.provisioning.volumeSelector 14- value
RAIDArrayConfig.provisioning.volumeSelector.match 14- text
RawVolumeConfig 11- struct
RawVolumeConfig.apiVersion 11- text
RawVolumeConfig.encryption 11- value
RawVolumeConfig.encryption.allowDiscards 14- bool
RawVolumeConfig.encryption.blockSize 11- uint
RawVolumeConfig.encryption.cipher 11- text
RawVolumeConfig.encryption.keySize 11- uint
RawVolumeConfig.encryption.keys 11- []struct
RawVolumeConfig.encryption.keys.*.kms 11- struct
RawVolumeConfig.encryption.keys.*.kms.endpoint 11- text
RawVolumeConfig.encryption.keys.*.lockToState 11- bool
RawVolumeConfig.encryption.keys.*.nodeID 11- struct
RawVolumeConfig.encryption.keys.*.slot 11- int
RawVolumeConfig.encryption.keys.*.static 11- struct
RawVolumeConfig.encryption.keys.*.static.passphrase 11- text
RawVolumeConfig.encryption.keys.*.tpm 11- struct
RawVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11- bool
RawVolumeConfig.encryption.keys.*.tpm.options 12- struct
RawVolumeConfig.encryption.keys.*.tpm.options.pcrs 12- []int
RawVolumeConfig.encryption.options 11- []text
RawVolumeConfig.encryption.provider 11- text
RawVolumeConfig.kind 11- text
RawVolumeConfig.name 11- text
RawVolumeConfig.provisioning 11- value
RawVolumeConfig.provisioning.diskSelector 11- value
RawVolumeConfig.provisioning.diskSelector.match 11- text
RawVolumeConfig.provisioning.grow 11- bool
RawVolumeConfig.provisioning.maxSize 11- text
RawVolumeConfig.provisioning.minSize 11- text
RegistryAuthConfig 12- struct
RegistryAuthConfig.apiVersion 12- text
RegistryAuthConfig.auth 12- text
RegistryAuthConfig.identityToken 12- text
RegistryAuthConfig.kind 12- text
RegistryAuthConfig.name 12- text
RegistryAuthConfig.password 12- text
RegistryAuthConfig.username 12- text
RegistryMirrorConfig 12- struct
RegistryMirrorConfig.apiVersion 12- text
RegistryMirrorConfig.endpoints 12- []struct
RegistryMirrorConfig.endpoints.*.overridePath 12- bool
RegistryMirrorConfig.endpoints.*.url 12- text
RegistryMirrorConfig.kind 12- text
RegistryMirrorConfig.name 12- text
RegistryMirrorConfig.skipFallback 12- bool
RegistryTLSConfig 12- struct
RegistryTLSConfig.apiVersion 12- text
RegistryTLSConfig.ca 12- text
RegistryTLSConfig.clientIdentity 12- struct
RegistryTLSConfig.clientIdentity.cert 12- text
RegistryTLSConfig.clientIdentity.key 12- text
RegistryTLSConfig.insecureSkipVerify 12- bool
RegistryTLSConfig.kind 12- text
RegistryTLSConfig.name 12- text
ResolverConfig 12- struct
ResolverConfig.apiVersion 12- text
ResolverConfig.hostDNS 14- value
ResolverConfig.hostDNS.enabled 14- bool
ResolverConfig.hostDNS.forwardKubeDNSToHost 14- bool
ResolverConfig.hostDNS.resolveMemberNames 14- bool
ResolverConfig.kind 12- text
ResolverConfig.nameservers 12- []struct
ResolverConfig.nameservers.*.address 12- text
ResolverConfig.nameservers.*.protocol 14- text
ResolverConfig.nameservers.*.tlsServerName 14- text
ResolverConfig.searchDomains 12- value
ResolverConfig.searchDomains.disableDefault 12- bool
ResolverConfig.searchDomains.domains 12- []text
RoutingRuleConfig 13- struct
RoutingRuleConfig.action 13- text
RoutingRuleConfig.apiVersion 13- text
RoutingRuleConfig.dst 13- text
RoutingRuleConfig.fwMark 13- uint
RoutingRuleConfig.fwMask 13- uint
RoutingRuleConfig.iifName 13- text
RoutingRuleConfig.kind 13- text
RoutingRuleConfig.name 13- text
RoutingRuleConfig.oifName 13- text
RoutingRuleConfig.src 13- text
RoutingRuleConfig.table 13- text
SecurityProfileConfig 14- struct
SecurityProfileConfig.apiVersion 14- text
SecurityProfileConfig.kind 14- text
SecurityProfileConfig.workloadIsolation 14- bool
SideroLinkConfig 5- struct
SideroLinkConfig.apiUrl 5- text
SideroLinkConfig.apiVersion 5- text
SideroLinkConfig.kind 5- text
SideroLinkConfig.uniqueToken 10- text
StaticHostConfig 12- struct
StaticHostConfig.apiVersion 12- text
StaticHostConfig.hostnames 12- []text
StaticHostConfig.kind 12- text
StaticHostConfig.name 12- text
SwapVolumeConfig 11- struct
SwapVolumeConfig.apiVersion 11- text
SwapVolumeConfig.encryption 11- value
SwapVolumeConfig.encryption.allowDiscards 14- bool
SwapVolumeConfig.encryption.blockSize 11- uint
SwapVolumeConfig.encryption.cipher 11- text
SwapVolumeConfig.encryption.keySize 11- uint
SwapVolumeConfig.encryption.keys 11- []struct
SwapVolumeConfig.encryption.keys.*.kms 11- struct
SwapVolumeConfig.encryption.keys.*.kms.endpoint 11- text
SwapVolumeConfig.encryption.keys.*.lockToState 11- bool
SwapVolumeConfig.encryption.keys.*.nodeID 11- struct
SwapVolumeConfig.encryption.keys.*.slot 11- int
SwapVolumeConfig.encryption.keys.*.static 11- struct
SwapVolumeConfig.encryption.keys.*.static.passphrase 11- text
SwapVolumeConfig.encryption.keys.*.tpm 11- struct
SwapVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11- bool
SwapVolumeConfig.encryption.keys.*.tpm.options 12- struct
SwapVolumeConfig.encryption.keys.*.tpm.options.pcrs 12- []int
SwapVolumeConfig.encryption.options 11- []text
SwapVolumeConfig.encryption.provider 11- text
SwapVolumeConfig.kind 11- text
SwapVolumeConfig.name 11- text
SwapVolumeConfig.provisioning 11- value
SwapVolumeConfig.provisioning.diskSelector 11- value
SwapVolumeConfig.provisioning.diskSelector.match 11- text
SwapVolumeConfig.provisioning.grow 11- bool
SwapVolumeConfig.provisioning.maxSize 11- text
SwapVolumeConfig.provisioning.minSize 11- text
SysctlConfig 14- struct
SysctlConfig.apiVersion 14- text
SysctlConfig.kind 14- text
SysctlConfig.params 14- {}text
SysfsConfig 14- struct
SysfsConfig.apiVersion 14- text
SysfsConfig.kind 14- text
SysfsConfig.params 14- {}text
TCPProbeConfig 13- struct
TCPProbeConfig.apiVersion 13- text
TCPProbeConfig.endpoint 13- text
TCPProbeConfig.failureThreshold 13- int
TCPProbeConfig.interval 13- duration
TCPProbeConfig.kind 13- text
TCPProbeConfig.name 13- text
TCPProbeConfig.timeout 13- duration
TimeSyncConfig 12- struct
TimeSyncConfig.apiVersion 12- text
TimeSyncConfig.bootTimeout 12- duration
TimeSyncConfig.enabled 12- bool
TimeSyncConfig.kind 12- text
TimeSyncConfig.ntp 12- struct
TimeSyncConfig.ntp.servers 12- []text
TimeSyncConfig.ntp.useNTS 14- bool
TimeSyncConfig.ptp 12- struct
TimeSyncConfig.ptp.devices 12- []text
TrustedRootsConfig 8- struct
TrustedRootsConfig.apiVersion 8- text
TrustedRootsConfig.certificates 8- text
TrustedRootsConfig.kind 8- text
TrustedRootsConfig.name 8- text
UdevRulesConfig 14- struct
UdevRulesConfig.apiVersion 14- text
UdevRulesConfig.kind 14- text
UdevRulesConfig.rules 14- []text
UnattendedInstallConfig 14- struct
UnattendedInstallConfig.apiVersion 14- text
UnattendedInstallConfig.installer 14- value
UnattendedInstallConfig.installer.image 14- text
UnattendedInstallConfig.kind 14- text
UnattendedInstallConfig.provisioning 14- value
UnattendedInstallConfig.provisioning.diskSelector 14- value
UnattendedInstallConfig.provisioning.diskSelector.match 14- text
UnattendedInstallConfig.provisioning.wipe 14- bool
UnattendedInstallConfig.reboot 14- bool
UserVolumeConfig 10- struct
UserVolumeConfig.apiVersion 10- text
UserVolumeConfig.encryption 10- value
UserVolumeConfig.encryption.allowDiscards 14- bool
UserVolumeConfig.encryption.blockSize 10- uint
UserVolumeConfig.encryption.cipher 10- text
UserVolumeConfig.encryption.keySize 10- uint
UserVolumeConfig.encryption.keys 10- []struct
UserVolumeConfig.encryption.keys.*.kms 10- struct
UserVolumeConfig.encryption.keys.*.kms.endpoint 10- text
UserVolumeConfig.encryption.keys.*.lockToState 11- bool
UserVolumeConfig.encryption.keys.*.nodeID 10- struct
UserVolumeConfig.encryption.keys.*.slot 10- int
UserVolumeConfig.encryption.keys.*.static 10- struct
UserVolumeConfig.encryption.keys.*.static.passphrase 10- text
UserVolumeConfig.encryption.keys.*.tpm 10- struct
UserVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 10- bool
UserVolumeConfig.encryption.keys.*.tpm.options 12- struct
UserVolumeConfig.encryption.keys.*.tpm.options.pcrs 12- []int
UserVolumeConfig.encryption.options 10- []text
UserVolumeConfig.encryption.provider 10- text
UserVolumeConfig.filesystem 10- value
UserVolumeConfig.filesystem.projectQuotaSupport 11- bool
UserVolumeConfig.filesystem.type 10- text
UserVolumeConfig.filesystem.xfs 14- struct
UserVolumeConfig.filesystem.xfs.minAllocationGroupSize 14- text
UserVolumeConfig.kind 10- text
UserVolumeConfig.mount 13- value
UserVolumeConfig.mount.disableAccessTime 13- bool
UserVolumeConfig.mount.secure 13- bool
UserVolumeConfig.name 10- text
UserVolumeConfig.provisioning 10- value
UserVolumeConfig.provisioning.diskSelector 10- value
UserVolumeConfig.provisioning.diskSelector.match 10- text
UserVolumeConfig.provisioning.grow 10- bool
UserVolumeConfig.provisioning.maxSize 10- text
UserVolumeConfig.provisioning.minSize 10- text
UserVolumeConfig.scrub 14- struct
UserVolumeConfig.scrub.enabled 14- bool
UserVolumeConfig.scrub.interval 14- duration
UserVolumeConfig.trim 14- struct
UserVolumeConfig.trim.enabled 14- bool
UserVolumeConfig.trim.interval 14- duration
UserVolumeConfig.volumeType 12- text
VLANConfig 12- struct
VLANConfig.addresses 12- []struct
VLANConfig.addresses.*.address 12- text
VLANConfig.addresses.*.routePriority 12- uint
VLANConfig.apiVersion 12- text
VLANConfig.kind 12- text
VLANConfig.mtu 12- uint
VLANConfig.multicast 12- bool
VLANConfig.name 12- text
VLANConfig.parent 12- text
VLANConfig.routes 12- []struct
VLANConfig.routes.*.destination 12- text
VLANConfig.routes.*.gateway 12- text
VLANConfig.routes.*.metric 12- uint
VLANConfig.routes.*.mtu 12- uint
VLANConfig.routes.*.source 12- text
VLANConfig.routes.*.table 12- text
VLANConfig.up 12- bool
VLANConfig.vlanID 12- uint
VLANConfig.vlanMode 12- text
VRFConfig 13- struct
VRFConfig.addresses 13- []struct
VRFConfig.addresses.*.address 13- text
VRFConfig.addresses.*.routePriority 13- uint
VRFConfig.apiVersion 13- text
VRFConfig.hardwareAddr 13- text
VRFConfig.kind 13- text
VRFConfig.links 13- []text
VRFConfig.mtu 13- uint
VRFConfig.multicast 13- bool
VRFConfig.name 13- text
VRFConfig.routes 13- []struct
VRFConfig.routes.*.destination 13- text
VRFConfig.routes.*.gateway 13- text
VRFConfig.routes.*.metric 13- uint
VRFConfig.routes.*.mtu 13- uint
VRFConfig.routes.*.source 13- text
VRFConfig.routes.*.table 13- text
VRFConfig.table 13- text
VRFConfig.up 13- bool
VethConfig 14- struct
VethConfig.addresses 14- []struct
VethConfig.addresses.*.address 14- text
VethConfig.addresses.*.routePriority 14- uint
VethConfig.apiVersion 14- text
VethConfig.kind 14- text
VethConfig.mtu 14- uint
VethConfig.multicast 14- bool
VethConfig.name 14- text
VethConfig.peer 14- value
VethConfig.peer.addresses 14- []struct
VethConfig.peer.addresses.*.address 14- text
VethConfig.peer.addresses.*.routePriority 14- uint
VethConfig.peer.mtu 14- uint
VethConfig.peer.multicast 14- bool
VethConfig.peer.name 14- text
VethConfig.peer.routes 14- []struct
VethConfig.peer.routes.*.destination 14- text
VethConfig.peer.routes.*.gateway 14- text
VethConfig.peer.routes.*.metric 14- uint
VethConfig.peer.routes.*.mtu 14- uint
VethConfig.peer.routes.*.source 14- text
VethConfig.peer.routes.*.table 14- text
VethConfig.peer.up 14- bool
VethConfig.routes 14- []struct
VethConfig.routes.*.destination 14- text
VethConfig.routes.*.gateway 14- text
VethConfig.routes.*.metric 14- uint
VethConfig.routes.*.mtu 14- uint
VethConfig.routes.*.source 14- text
VethConfig.routes.*.table 14- text
VethConfig.up 14- bool
VolumeConfig 8- struct
VolumeConfig.apiVersion 8- text
VolumeConfig.encryption 11- value
VolumeConfig.encryption.allowDiscards 14- bool
VolumeConfig.encryption.blockSize 11- uint
VolumeConfig.encryption.cipher 11- text
VolumeConfig.encryption.keySize 11- uint
VolumeConfig.encryption.keys 11- []struct
VolumeConfig.encryption.keys.*.kms 11- struct
VolumeConfig.encryption.keys.*.kms.endpoint 11- text
VolumeConfig.encryption.keys.*.lockToState 11- bool
VolumeConfig.encryption.keys.*.nodeID 11- struct
VolumeConfig.encryption.keys.*.slot 11- int
VolumeConfig.encryption.keys.*.static 11- struct
VolumeConfig.encryption.keys.*.static.passphrase 11- text
VolumeConfig.encryption.keys.*.tpm 11- struct
VolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11- bool
VolumeConfig.encryption.keys.*.tpm.options 12- struct
VolumeConfig.encryption.keys.*.tpm.options.pcrs 12- []int
VolumeConfig.encryption.options 11- []text
VolumeConfig.encryption.provider 11- text
VolumeConfig.filesystem 14- value
VolumeConfig.filesystem.xfs 14- struct
VolumeConfig.filesystem.xfs.minAllocationGroupSize 14- text
VolumeConfig.kind 8- text
VolumeConfig.mount 13- value
VolumeConfig.mount.disableAccessTime 14- bool
VolumeConfig.mount.secure 13- bool
VolumeConfig.name 8- text
VolumeConfig.provisioning 8- value
VolumeConfig.provisioning.diskSelector 8- value
VolumeConfig.provisioning.diskSelector.match 8- text
VolumeConfig.provisioning.grow 8- bool
VolumeConfig.provisioning.maxSize 8- text
VolumeConfig.provisioning.minSize 8- text
VolumeConfig.scrub 14- struct
VolumeConfig.scrub.enabled 14- bool
VolumeConfig.scrub.interval 14- duration
VolumeConfig.trim 14- struct
VolumeConfig.trim.enabled 14- bool
VolumeConfig.trim.interval 14- duration
WatchdogTimerConfig 7- struct
WatchdogTimerConfig.apiVersion 7- text
WatchdogTimerConfig.device 7- text
WatchdogTimerConfig.kind 7- text
WatchdogTimerConfig.timeout 7- duration
WireguardConfig 12- struct
WireguardConfig.addresses 12- []struct
WireguardConfig.addresses.*.address 12- text
WireguardConfig.addresses.*.routePriority 12- uint
WireguardConfig.apiVersion 12- text
WireguardConfig.firewallMark 12- int
WireguardConfig.kind 12- text
WireguardConfig.listenPort 12- int
WireguardConfig.mtu 12- uint
WireguardConfig.multicast 12- bool
WireguardConfig.name 12- text
WireguardConfig.peers 12- []struct
WireguardConfig.peers.*.allowedIPs 12- []text
WireguardConfig.peers.*.endpoint 12- text
WireguardConfig.peers.*.persistentKeepaliveInterval 12- duration
WireguardConfig.peers.*.presharedKey 12- text
WireguardConfig.peers.*.publicKey 12- text
WireguardConfig.privateKey 12- text
WireguardConfig.routes 12- []struct
WireguardConfig.routes.*.destination 12- text
WireguardConfig.routes.*.gateway 12- text
WireguardConfig.routes.*.metric 12- uint
WireguardConfig.routes.*.mtu 12- uint
WireguardConfig.routes.*.source 12- text
WireguardConfig.routes.*.table 12- text
WireguardConfig.up 12- bool
ZswapConfig 11- struct
ZswapConfig.apiVersion 11- text
ZswapConfig.kind 11- text
ZswapConfig.maxPoolPercent 11- int
ZswapConfig.shrinkerEnabled 11- bool
v1alpha1 - struct
v1alpha1.cluster - struct
v1alpha1.cluster.acceptedCAs 7- []struct !14 KubeAPIServerCAConfig
v1alpha1.cluster.acceptedCAs.*.crt 7- text
v1alpha1.cluster.adminKubeconfig - struct
v1alpha1.cluster.adminKubeconfig.certLifetime - duration
v1alpha1.cluster.aescbcEncryptionSecret - text !14 KubeEtcdEncryptionConfig
v1alpha1.cluster.aggregatorCA - struct !14 KubeAggregatorCAConfig
v1alpha1.cluster.aggregatorCA.crt - text
v1alpha1.cluster.aggregatorCA.key - text
v1alpha1.cluster.allowSchedulingOnControlPlanes - bool !14 KubeNodeConfig
v1alpha1.cluster.allowSchedulingOnMasters - bool !3 allowSchedulingOnControlPlanes
v1alpha1.cluster.apiServer - struct !14 KubeAPIServerConfig
v1alpha1.cluster.apiServer.admissionControl - []struct !14 KubeAdmissionControlConfig
v1alpha1.cluster.apiServer.admissionControl.*.configuration - {}any
v1alpha1.cluster.apiServer.admissionControl.*.name - text
v1alpha1.cluster.apiServer.auditPolicy - {}any !14 KubeAuditPolicyConfig
v1alpha1.cluster.apiServer.authorizationConfig 9- []struct !14 KubeAuthorizerConfig
v1alpha1.cluster.apiServer.authorizationConfig.*.name 9- text
v1alpha1.cluster.apiServer.authorizationConfig.*.type 9- text
v1alpha1.cluster.apiServer.authorizationConfig.*.webhook 9- {}any
v1alpha1.cluster.apiServer.certSANs - []text
v1alpha1.cluster.apiServer.disablePodSecurityPolicy - bool
v1alpha1.cluster.apiServer.env - {}text
v1alpha1.cluster.apiServer.extraArgs - {}text,13:{}arg
v1alpha1.cluster.apiServer.extraVolumes - []struct
v1alpha1.cluster.apiServer.extraVolumes.*.hostPath - text
v1alpha1.cluster.apiServer.extraVolumes.*.mountPath - text
v1alpha1.cluster.apiServer.extraVolumes.*.readonly - bool
v1alpha1.cluster.apiServer.image - text
v1alpha1.cluster.apiServer.resources 5- struct
v1alpha1.cluster.apiServer.resources.limits 5- {}any
v1alpha1.cluster.apiServer.resources.requests 5- {}any
v1alpha1.cluster.ca - struct !14 KubeAPIServerCAConfig
v1alpha1.cluster.ca.crt - text
v1alpha1.cluster.ca.key - text
v1alpha1.cluster.clusterName - text !14 KubeClusterConfig
v1alpha1.cluster.controlPlane - struct !14 KubeClusterConfig
v1alpha1.cluster.controlPlane.endpoint - text
v1alpha1.cluster.controlPlane.localAPIServerPort - int !14 KubeAPIServerConfig
v1alpha1.cluster.controllerManager - struct !14 KubeControllerManagerConfig
v1alpha1.cluster.controllerManager.env - {}text
v1alpha1.cluster.controllerManager.extraArgs - {}text,13:{}arg
v1alpha1.cluster.controllerManager.extraVolumes - []struct
v1alpha1.cluster.controllerManager.extraVolumes.*.hostPath - text
v1alpha1.cluster.controllerManager.extraVolumes.*.mountPath - text
v1alpha1.cluster.controllerManager.extraVolumes.*.readonly - bool
v1alpha1.cluster.controllerManager.image - text
v1alpha1.cluster.controllerManager.resources 5- struct
v1alpha1.cluster.controllerManager.resources.limits 5- {}any
v1alpha1.cluster.controllerManager.resources.requests 5- {}any
v1alpha1.cluster.coreDNS - struct !14 KubeCoreDNSConfig
v1alpha1.cluster.coreDNS.disabled - bool
v1alpha1.cluster.coreDNS.image - text
v1alpha1.cluster.discovery - struct !14 DiscoveryServiceConfig
v1alpha1.cluster.discovery.enabled - bool
v1alpha1.cluster.discovery.registries - value
v1alpha1.cluster.discovery.registries.kubernetes - value
v1alpha1.cluster.discovery.registries.kubernetes.disabled - bool
v1alpha1.cluster.discovery.registries.service - value
v1alpha1.cluster.discovery.registries.service.disabled - bool
v1alpha1.cluster.discovery.registries.service.endpoint - text
v1alpha1.cluster.etcd - struct
v1alpha1.cluster.etcd.advertisedSubnets - []text
v1alpha1.cluster.etcd.ca - struct
v1alpha1.cluster.etcd.ca.crt - text
v1alpha1.cluster.etcd.ca.key - text
v1alpha1.cluster.etcd.extraArgs - {}text,13:{}arg
v1alpha1.cluster.etcd.image - text
v1alpha1.cluster.etcd.listenSubnets - []text
v1alpha1.cluster.etcd.subnet - text !3 advertisedSubnets
v1alpha1.cluster.externalCloudProvider - struct
v1alpha1.cluster.externalCloudProvider.enabled - bool
v1alpha1.cluster.externalCloudProvider.manifests - []text
v1alpha1.cluster.extraManifestHeaders - {}text !14 KubeExternalManifestConfig
v1alpha1.cluster.extraManifests - []text !14 KubeExternalManifestConfig
v1alpha1.cluster.id - text !14 DiscoveryIdentityConfig
v1alpha1.cluster.inlineManifests - []struct !14 KubeInlineManifestConfig
v1alpha1.cluster.inlineManifests.*.contents - text
v1alpha1.cluster.inlineManifests.*.name - text
v1alpha1.cluster.network - struct !14 KubeNetworkConfig
v1alpha1.cluster.network.cni - struct
v1alpha1.cluster.network.cni.flannel 6- struct !14 KubeFlannelCNIConfig
v1alpha1.cluster.network.cni.flannel.extraArgs 6- []text
v1alpha1.cluster.network.cni.flannel.kubeNetworkPoliciesEnabled 13- bool
v1alpha1.cluster.network.cni.name - text
v1alpha1.cluster.network.cni.urls - []text !14 KubeExternalManifestConfig
v1alpha1.cluster.network.dnsDomain - text
v1alpha1.cluster.network.podSubnets - []text
v1alpha1.cluster.network.serviceSubnets - []text
v1alpha1.cluster.proxy - struct !14 KubeProxyConfig
v1alpha1.cluster.proxy.disabled - bool
v1alpha1.cluster.proxy.extraArgs - {}text,13:{}arg
v1alpha1.cluster.proxy.image - text
v1alpha1.cluster.proxy.mode - text
v1alpha1.cluster.scheduler - struct !14 KubeSchedulerConfig
v1alpha1.cluster.scheduler.config 6- {}any
v1alpha1.cluster.scheduler.env - {}text
v1alpha1.cluster.scheduler.extraArgs - {}text,13:{}arg
v1alpha1.cluster.scheduler.extraVolumes - []struct
v1alpha1.cluster.scheduler.extraVolumes.*.hostPath - text
v1alpha1.cluster.scheduler.extraVolumes.*.mountPath - text
v1alpha1.cluster.scheduler.extraVolumes.*.readonly - bool
v1alpha1.cluster.scheduler.image - text
v1alpha1.cluster.scheduler.resources 5- struct
v1alpha1.cluster.scheduler.resources.limits 5- {}any
v1alpha1.cluster.scheduler.resources.requests 5- {}any
v1alpha1.cluster.secret - text !14 DiscoveryIdentityConfig
v1alpha1.cluster.secretboxEncryptionSecret - text !14 KubeEtcdEncryptionConfig
v1alpha1.cluster.serviceAccount - struct !14 KubeServiceAccountConfig
v1alpha1.cluster.serviceAccount.key - text
v1alpha1.cluster.token - text
v1alpha1.debug - bool
v1alpha1.machine - struct
v1alpha1.machine.acceptedCAs 7- []struct
v1alpha1.machine.acceptedCAs.*.crt 7- text
v1alpha1.machine.baseRuntimeSpecOverrides 9- {}any !14 CRIBaseRuntimeSpecConfig
v1alpha1.machine.ca - struct
v1alpha1.machine.ca.crt - text
v1alpha1.machine.ca.key - text
v1alpha1.machine.certSANs - []text
v1alpha1.machine.controlPlane - struct !14 KubeControllerManagerConfig
v1alpha1.machine.controlPlane.controllerManager - struct
v1alpha1.machine.controlPlane.controllerManager.disabled - bool
v1alpha1.machine.controlPlane.scheduler - struct !14 KubeSchedulerConfig
v1alpha1.machine.controlPlane.scheduler.disabled - bool
v1alpha1.machine.disks - []struct !10 UserVolumeConfig
v1alpha1.machine.disks.*.device - text
v1alpha1.machine.disks.*.partitions - []struct
v1alpha1.machine.disks.*.partitions.*.mountpoint - text
v1alpha1.machine.disks.*.partitions.*.size - text
v1alpha1.machine.env - {}text !13 EnvironmentConfig
v1alpha1.machine.features - struct
v1alpha1.machine.features.apidCheckExtKeyUsage - bool
v1alpha1.machine.features.diskQuotaSupport 5- bool
v1alpha1.machine.features.hostDNS 7- struct !14 ResolverConfig
v1alpha1.machine.features.hostDNS.enabled 7- bool
v1alpha1.machine.features.hostDNS.forwardKubeDNSToHost 7- bool
v1alpha1.machine.features.hostDNS.resolveMemberNames 7- bool
v1alpha1.machine.features.imageCache 9- struct !14 ImageCacheConfig
v1alpha1.machine.features.imageCache.localEnabled 9- bool
v1alpha1.machine.features.kubePrism 5- struct !14 KubePrismConfig
v1alpha1.machine.features.kubePrism.enabled 5- bool
v1alpha1.machine.features.kubePrism.port 5- int
v1alpha1.machine.features.kubernetesTalosAPIAccess - struct !14 KubeTalosAPIAccessConfig
v1alpha1.machine.features.kubernetesTalosAPIAccess.allowedKubernetesNamespaces - []text
v1alpha1.machine.features.kubernetesTalosAPIAccess.allowedRoles - []text
v1alpha1.machine.features.kubernetesTalosAPIAccess.enabled - bool
v1alpha1.machine.features.nodeAddressSortAlgorithm 9- text
v1alpha1.machine.features.rbac - bool
v1alpha1.machine.features.stableHostname - bool !12 HostnameConfig
v1alpha1.machine.files - []struct !14 EtcFileConfig
v1alpha1.machine.files.*.content - text
v1alpha1.machine.files.*.op - text
v1alpha1.machine.files.*.path - text
v1alpha1.machine.files.*.permissions - uint
v1alpha1.machine.install - struct !14 UnattendedInstallConfig
v1alpha1.machine.install.bootloader - bool !6 -
v1alpha1.machine.install.disk - text
v1alpha1.machine.install.diskSelector - struct
v1alpha1.machine.install.diskSelector.busPath - text
v1alpha1.machine.install.diskSelector.modalias - text
v1alpha1.machine.install.diskSelector.model - text
v1alpha1.machine.install.diskSelector.name - text
v1alpha1.machine.install.diskSelector.serial - text
v1alpha1.machine.install.diskSelector.size - text
v1alpha1.machine.install.diskSelector.type - text
v1alpha1.machine.install.diskSelector.uuid - text
v1alpha1.machine.install.diskSelector.wwid - text
v1alpha1.machine.install.extensions - []struct !10 -
v1alpha1.machine.install.extensions.*.image - text
v1alpha1.machine.install.extraKernelArgs - []text !12 -
v1alpha1.machine.install.grubUseUKICmdline 12- bool
v1alpha1.machine.install.image - text
v1alpha1.machine.install.legacyBIOSSupport - bool
v1alpha1.machine.install.wipe - bool
v1alpha1.machine.kernel - struct !14 KernelModuleConfig
v1alpha1.machine.kernel.modules - []struct
v1alpha1.machine.kernel.modules.*.name - text
v1alpha1.machine.kernel.modules.*.parameters - []text
v1alpha1.machine.kubelet - struct !14 KubeletConfig
v1alpha1.machine.kubelet.clusterDNS - []text
v1alpha1.machine.kubelet.credentialProviderConfig 6- {}any !14 KubeCredentialProviderConfig
v1alpha1.machine.kubelet.defaultRuntimeSeccompProfileEnabled - bool
v1alpha1.machine.kubelet.disableManifestsDirectory - bool !14 -
v1alpha1.machine.kubelet.extraArgs - {}text,13:{}arg
v1alpha1.machine.kubelet.extraConfig - {}any
v1alpha1.machine.kubelet.extraMounts - []struct !14 -
v1alpha1.machine.kubelet.extraMounts.*.destination - text
v1alpha1.machine.kubelet.extraMounts.*.gidMappings 6- []struct
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.containerID 6- uint
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.hostID 6- uint
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.size 6- uint
v1alpha1.machine.kubelet.extraMounts.*.options - []text
v1alpha1.machine.kubelet.extraMounts.*.source - text
v1alpha1.machine.kubelet.extraMounts.*.type - text
v1alpha1.machine.kubelet.extraMounts.*.uidMappings 6- []struct
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.containerID 6- uint
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.hostID 6- uint
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.size 6- uint
v1alpha1.machine.kubelet.image - text
v1alpha1.machine.kubelet.nodeIP - struct !14 KubeNodeConfig
v1alpha1.machine.kubelet.nodeIP.validSubnets - []text
v1alpha1.machine.kubelet.registerWithFQDN - bool !14 KubeNodeConfig
v1alpha1.machine.kubelet.skipNodeRegistration - bool !14 KubeNodeConfig
v1alpha1.machine.logging - struct
v1alpha1.machine.logging.destinations - []struct
v1alpha1.machine.logging.destinations.*.endpoint - text
v1alpha1.machine.logging.destinations.*.extraTags 7- {}text
v1alpha1.machine.logging.destinations.*.format - text
v1alpha1.machine.network - struct !13
v1alpha1.machine.network.disableSearchDomain - bool !12 ResolverConfig
v1alpha1.machine.network.extraHostEntries - []struct !12 StaticHostConfig
v1alpha1.machine.network.extraHostEntries.*.aliases - []text
v1alpha1.machine.network.extraHostEntries.*.ip - text
v1alpha1.machine.network.hostname - text !12 HostnameConfig
v1alpha1.machine.network.interfaces - []struct !12 LinkConfig
v1alpha1.machine.network.interfaces.*.addresses - []text
v1alpha1.machine.network.interfaces.*.bond - struct
v1alpha1.machine.network.interfaces.*.bond.adActorSysPrio - uint
v1alpha1.machine.network.interfaces.*.bond.adActorSystem - text
v1alpha1.machine.network.interfaces.*.bond.adSelect - text
v1alpha1.machine.network.interfaces.*.bond.adUserPortKey - uint
v1alpha1.machine.network.interfaces.*.bond.allSlavesActive - uint
v1alpha1.machine.network.interfaces.*.bond.arpAllTargets - text
v1alpha1.machine.network.interfaces.*.bond.arpIPTarget - []text
v1alpha1.machine.network.interfaces.*.bond.arpInterval - uint
v1alpha1.machine.network.interfaces.*.bond.arpValidate - text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors 4- []struct
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.busPath 4- text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.driver 4- text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.hardwareAddr 4- text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.pciID 4- text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.permanentAddr 9- text
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.physical 7- bool
v1alpha1.machine.network.interfaces.*.bond.downdelay - uint
v1alpha1.machine.network.interfaces.*.bond.failOverMac - text
v1alpha1.machine.network.interfaces.*.bond.interfaces - []text
v1alpha1.machine.network.interfaces.*.bond.lacpRate - text
v1alpha1.machine.network.interfaces.*.bond.lpInterval - uint
v1alpha1.machine.network.interfaces.*.bond.miimon - uint
v1alpha1.machine.network.interfaces.*.bond.minLinks - uint
v1alpha1.machine.network.interfaces.*.bond.mode - text
v1alpha1.machine.network.interfaces.*.bond.numPeerNotif - uint
v1alpha1.machine.network.interfaces.*.bond.packetsPerSlave - uint
v1alpha1.machine.network.interfaces.*.bond.peerNotifyDelay - uint
v1alpha1.machine.network.interfaces.*.bond.primary - text
v1alpha1.machine.network.interfaces.*.bond.primaryReselect - text
v1alpha1.machine.network.interfaces.*.bond.resendIgmp - uint
v1alpha1.machine.network.interfaces.*.bond.tlbDynamicLb - uint
v1alpha1.machine.network.interfaces.*.bond.updelay - uint
v1alpha1.machine.network.interfaces.*.bond.useCarrier - bool
v1alpha1.machine.network.interfaces.*.bond.xmitHashPolicy - text
v1alpha1.machine.network.interfaces.*.bridge - struct
v1alpha1.machine.network.interfaces.*.bridge.interfaces - []text
v1alpha1.machine.network.interfaces.*.bridge.stp - struct
v1alpha1.machine.network.interfaces.*.bridge.stp.enabled - bool
v1alpha1.machine.network.interfaces.*.bridge.vlan 8- struct
v1alpha1.machine.network.interfaces.*.bridge.vlan.vlanFiltering 8- bool
v1alpha1.machine.network.interfaces.*.bridgePort 9- struct
v1alpha1.machine.network.interfaces.*.bridgePort.master 9- text
v1alpha1.machine.network.interfaces.*.cidr - text
v1alpha1.machine.network.interfaces.*.deviceSelector - struct
v1alpha1.machine.network.interfaces.*.deviceSelector.busPath - text
v1alpha1.machine.network.interfaces.*.deviceSelector.driver - text
v1alpha1.machine.network.interfaces.*.deviceSelector.hardwareAddr - text
v1alpha1.machine.network.interfaces.*.deviceSelector.pciID - text
v1alpha1.machine.network.interfaces.*.deviceSelector.permanentAddr 9- text
v1alpha1.machine.network.interfaces.*.deviceSelector.physical 7- bool
v1alpha1.machine.network.interfaces.*.dhcp - bool
v1alpha1.machine.network.interfaces.*.dhcpOptions - struct
v1alpha1.machine.network.interfaces.*.dhcpOptions.duidv6 - text
v1alpha1.machine.network.interfaces.*.dhcpOptions.ipv4 - bool
v1alpha1.machine.network.interfaces.*.dhcpOptions.ipv6 - bool
v1alpha1.machine.network.interfaces.*.dhcpOptions.routeMetric - uint
v1alpha1.machine.network.interfaces.*.dummy - bool
v1alpha1.machine.network.interfaces.*.ignore - bool
v1alpha1.machine.network.interfaces.*.interface - text
v1alpha1.machine.network.interfaces.*.mtu - int
v1alpha1.machine.network.interfaces.*.routes - []struct
v1alpha1.machine.network.interfaces.*.routes.*.gateway - text
v1alpha1.machine.network.interfaces.*.routes.*.metric - uint
v1alpha1.machine.network.interfaces.*.routes.*.mtu - uint
v1alpha1.machine.network.interfaces.*.routes.*.network - text
v1alpha1.machine.network.interfaces.*.routes.*.source - text
v1alpha1.machine.network.interfaces.*.vip - struct
v1alpha1.machine.network.interfaces.*.vip.equinixMetal - struct
v1alpha1.machine.network.interfaces.*.vip.equinixMetal.apiToken - text
v1alpha1.machine.network.interfaces.*.vip.hcloud - struct
v1alpha1.machine.network.interfaces.*.vip.hcloud.apiToken - text
v1alpha1.machine.network.interfaces.*.vip.ip - text
v1alpha1.machine.network.interfaces.*.vlans - []struct
v1alpha1.machine.network.interfaces.*.vlans.*.addresses - []text
v1alpha1.machine.network.interfaces.*.vlans.*.cidr - text
v1alpha1.machine.network.interfaces.*.vlans.*.dhcp - bool
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions - struct
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.duidv6 - text
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.ipv4 - bool
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.ipv6 - bool
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.routeMetric - uint
v1alpha1.machine.network.interfaces.*.vlans.*.mtu - uint
v1alpha1.machine.network.interfaces.*.vlans.*.routes - []struct
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.gateway - text
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.metric - uint
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.mtu - uint
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.network - text
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.source - text
v1alpha1.machine.network.interfaces.*.vlans.*.vip - struct
v1alpha1.machine.network.interfaces.*.vlans.*.vip.equinixMetal - struct
v1alpha1.machine.network.interfaces.*.vlans.*.vip.equinixMetal.apiToken - text
v1alpha1.machine.network.interfaces.*.vlans.*.vip.hcloud - struct
v1alpha1.machine.network.interfaces.*.vlans.*.vip.hcloud.apiToken - text
v1alpha1.machine.network.interfaces.*.vlans.*.vip.ip - text
v1alpha1.machine.network.interfaces.*.vlans.*.vlanId - uint
v1alpha1.machine.network.interfaces.*.wireguard - struct
v1alpha1.machine.network.interfaces.*.wireguard.firewallMark - int
v1alpha1.machine.network.interfaces.*.wireguard.listenPort - int
v1alpha1.machine.network.interfaces.*.wireguard.peers - []struct
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.allowedIPs - []text
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.endpoint - text
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.persistentKeepaliveInterval - duration
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.publicKey - text
v1alpha1.machine.network.interfaces.*.wireguard.privateKey - text
v1alpha1.machine.network.kubespan - struct !13 KubeSpanConfig
v1alpha1.machine.network.kubespan.advertiseKubernetesNetworks - bool
v1alpha1.machine.network.kubespan.allowDownPeerBypass - bool
v1alpha1.machine.network.kubespan.enabled - bool
v1alpha1.machine.network.kubespan.filters - struct
v1alpha1.machine.network.kubespan.filters.endpoints - []text
v1alpha1.machine.network.kubespan.filters.excludeAdvertisedNetworks 12- []text
v1alpha1.machine.network.kubespan.harvestExtraEndpoints 6- bool
v1alpha1.machine.network.kubespan.mtu - uint
v1alpha1.machine.network.nameservers - []text !12 ResolverConfig
v1alpha1.machine.network.searchDomains 9- []text !12 ResolverConfig
v1alpha1.machine.nodeAnnotations 8- {}text !14 KubeNodeConfig
v1alpha1.machine.nodeLabels - {}text !14 KubeNodeConfig
v1alpha1.machine.nodeTaints 6- {}text !14 KubeNodeConfig
v1alpha1.machine.pods - []{}any !14 KubeStaticPodConfig
v1alpha1.machine.registries - value !12 RegistryMirrorConfig
v1alpha1.machine.registries.config - {}struct
v1alpha1.machine.registries.config.*.auth - struct !12 RegistryAuthConfig
v1alpha1.machine.registries.config.*.auth.auth - text
v1alpha1.machine.registries.config.*.auth.identityToken - text
v1alpha1.machine.registries.config.*.auth.password - text
v1alpha1.machine.registries.config.*.auth.username - text
v1alpha1.machine.registries.config.*.tls - struct !12 RegistryTLSConfig
v1alpha1.machine.registries.config.*.tls.ca - text
v1alpha1.machine.registries.config.*.tls.clientIdentity - struct
v1alpha1.machine.registries.config.*.tls.clientIdentity.crt - text
v1alpha1.machine.registries.config.*.tls.clientIdentity.key - text
v1alpha1.machine.registries.config.*.tls.insecureSkipVerify - bool
v1alpha1.machine.registries.mirrors - {}struct
v1alpha1.machine.registries.mirrors.*.endpoints - []text
v1alpha1.machine.registries.mirrors.*.overridePath - bool
v1alpha1.machine.registries.mirrors.*.skipFallback 9- bool
v1alpha1.machine.seccompProfiles - []struct
v1alpha1.machine.seccompProfiles.*.name - text
v1alpha1.machine.seccompProfiles.*.value - {}any
v1alpha1.machine.sysctls - {}text !14 SysctlConfig
v1alpha1.machine.sysfs - {}text !14 SysfsConfig
v1alpha1.machine.systemDiskEncryption - struct !11 VolumeConfig
v1alpha1.machine.systemDiskEncryption.ephemeral - struct
v1alpha1.machine.systemDiskEncryption.ephemeral.blockSize - uint
v1alpha1.machine.systemDiskEncryption.ephemeral.cipher - text
v1alpha1.machine.systemDiskEncryption.ephemeral.keySize - uint
v1alpha1.machine.systemDiskEncryption.ephemeral.keys - []struct
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.kms 5- struct
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.kms.endpoint 5- text
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.nodeID - struct
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.slot - int
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.static - struct
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.static.passphrase - text
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.tpm 5- struct
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.tpm.checkSecurebootStatusOnEnroll 6- bool
v1alpha1.machine.systemDiskEncryption.ephemeral.options - []text
v1alpha1.machine.systemDiskEncryption.ephemeral.provider - text
v1alpha1.machine.systemDiskEncryption.state - struct
v1alpha1.machine.systemDiskEncryption.state.blockSize - uint
v1alpha1.machine.systemDiskEncryption.state.cipher - text
v1alpha1.machine.systemDiskEncryption.state.keySize - uint
v1alpha1.machine.systemDiskEncryption.state.keys - []struct
v1alpha1.machine.systemDiskEncryption.state.keys.*.kms 5- struct
v1alpha1.machine.systemDiskEncryption.state.keys.*.kms.endpoint 5- text
v1alpha1.machine.systemDiskEncryption.state.keys.*.nodeID - struct
v1alpha1.machine.systemDiskEncryption.state.keys.*.slot - int
v1alpha1.machine.systemDiskEncryption.state.keys.*.static - struct
v1alpha1.machine.systemDiskEncryption.state.keys.*.static.passphrase - text
v1alpha1.machine.systemDiskEncryption.state.keys.*.tpm 5- struct
v1alpha1.machine.systemDiskEncryption.state.keys.*.tpm.checkSecurebootStatusOnEnroll 6- bool
v1alpha1.machine.systemDiskEncryption.state.options - []text
v1alpha1.machine.systemDiskEncryption.state.provider - text
v1alpha1.machine.time - struct !12 TimeSyncConfig
v1alpha1.machine.time.bootTimeout - duration
v1alpha1.machine.time.disabled - bool
v1alpha1.machine.time.servers - []text
v1alpha1.machine.token - text
v1alpha1.machine.type - text
v1alpha1.machine.udev - struct !14 UdevRulesConfig
v1alpha1.machine.udev.rules - []text
v1alpha1.persist - bool !6 -
v1alpha1.version - text
`;

/** The fields of the kubelet's configuration, in the same form. The versions are those of the Talos that decodes it. */
export const KUBELET_TABLE = `
KubeletConfiguration - struct
KubeletConfiguration.address - text
KubeletConfiguration.allowedUnsafeSysctls - []text
KubeletConfiguration.apiVersion -13 text
KubeletConfiguration.authentication - value
KubeletConfiguration.authentication.anonymous - value
KubeletConfiguration.authentication.anonymous.enabled - bool
KubeletConfiguration.authentication.webhook - value
KubeletConfiguration.authentication.webhook.cacheTTL - duration
KubeletConfiguration.authentication.webhook.enabled - bool
KubeletConfiguration.authentication.x509 - value
KubeletConfiguration.authentication.x509.clientCAFile - text
KubeletConfiguration.authorization - value
KubeletConfiguration.authorization.mode - text
KubeletConfiguration.authorization.webhook - value
KubeletConfiguration.authorization.webhook.cacheAuthorizedTTL - duration
KubeletConfiguration.authorization.webhook.cacheUnauthorizedTTL - duration
KubeletConfiguration.cgroupDriver - text
KubeletConfiguration.cgroupRoot - text
KubeletConfiguration.cgroupsPerQOS - bool
KubeletConfiguration.clusterDNS - []text
KubeletConfiguration.clusterDomain - text
KubeletConfiguration.configMapAndSecretChangeDetectionStrategy - text
KubeletConfiguration.containerLogMaxFiles - int
KubeletConfiguration.containerLogMaxSize - text
KubeletConfiguration.containerLogMaxWorkers 7- int
KubeletConfiguration.containerLogMonitorInterval 7- duration
KubeletConfiguration.containerRuntimeEndpoint 4- text
KubeletConfiguration.contentType - text
KubeletConfiguration.cpuCFSQuota - bool
KubeletConfiguration.cpuCFSQuotaPeriod - duration
KubeletConfiguration.cpuManagerPolicy - text
KubeletConfiguration.cpuManagerPolicyOptions - {}text
KubeletConfiguration.cpuManagerReconcilePeriod - duration
KubeletConfiguration.crashLoopBackOff 9- value
KubeletConfiguration.crashLoopBackOff.maxContainerRestartPeriod 9- duration
KubeletConfiguration.defaultPodSysctls 14- {}text
KubeletConfiguration.enableContentionProfiling - bool
KubeletConfiguration.enableControllerAttachDetach - bool
KubeletConfiguration.enableDebugFlagsHandler - bool
KubeletConfiguration.enableDebuggingHandlers - bool
KubeletConfiguration.enableProfilingHandler - bool
KubeletConfiguration.enableServer - bool
KubeletConfiguration.enableSystemLogHandler - bool
KubeletConfiguration.enableSystemLogQuery 4- bool
KubeletConfiguration.enforceNodeAllocatable - []text
KubeletConfiguration.eventBurst - int
KubeletConfiguration.eventRecordQPS - int
KubeletConfiguration.evictionHard - {}text
KubeletConfiguration.evictionMaxPodGracePeriod - int
KubeletConfiguration.evictionMinimumReclaim - {}text
KubeletConfiguration.evictionPressureTransitionPeriod - duration
KubeletConfiguration.evictionSoft - {}text
KubeletConfiguration.evictionSoftGracePeriod - {}text
KubeletConfiguration.failCgroupV1 8- bool
KubeletConfiguration.failSwapOn - bool
KubeletConfiguration.featureGates - {}bool
KubeletConfiguration.fileCheckFrequency - duration
KubeletConfiguration.hairpinMode - text
KubeletConfiguration.healthzBindAddress - text
KubeletConfiguration.healthzPort - int
KubeletConfiguration.httpCheckFrequency - duration
KubeletConfiguration.imageGCHighThresholdPercent - int
KubeletConfiguration.imageGCLowThresholdPercent - int
KubeletConfiguration.imageMaximumGCAge 6- duration
KubeletConfiguration.imageMinimumGCAge - duration
KubeletConfiguration.imagePullCredentialsVerificationPolicy 10- text
KubeletConfiguration.imageServiceEndpoint 4- text
KubeletConfiguration.iptablesDropBit - int
KubeletConfiguration.iptablesMasqueradeBit - int
KubeletConfiguration.kernelMemcgNotification - bool
KubeletConfiguration.kind -13 text
KubeletConfiguration.kubeAPIBurst - int
KubeletConfiguration.kubeAPIQPS - int
KubeletConfiguration.kubeReserved - {}text
KubeletConfiguration.kubeReservedCgroup - text
KubeletConfiguration.kubeletCgroups - text
KubeletConfiguration.localStorageCapacityIsolation - bool
KubeletConfiguration.logging - value
KubeletConfiguration.logging.flushFrequency - duration,5:quantity
KubeletConfiguration.logging.format - text
KubeletConfiguration.logging.options - value
KubeletConfiguration.logging.options.json - value
KubeletConfiguration.logging.options.json.infoBufferSize -13 quantity
KubeletConfiguration.logging.options.json.splitStream -13 bool
KubeletConfiguration.logging.options.text 7- value
KubeletConfiguration.logging.options.text.infoBufferSize 7-13 quantity
KubeletConfiguration.logging.options.text.splitStream 7-13 bool
KubeletConfiguration.logging.verbosity - uint
KubeletConfiguration.logging.vmodule - []struct
KubeletConfiguration.logging.vmodule.*.filePattern - text
KubeletConfiguration.logging.vmodule.*.verbosity - uint
KubeletConfiguration.makeIPTablesUtilChains - bool
KubeletConfiguration.maxOpenFiles - int
KubeletConfiguration.maxParallelImagePulls 4- int
KubeletConfiguration.maxPods - int
KubeletConfiguration.memoryManagerPolicy - text
KubeletConfiguration.memoryReservationPolicy 13- text
KubeletConfiguration.memorySwap - value
KubeletConfiguration.memorySwap.swapBehavior - text
KubeletConfiguration.memoryThrottlingFactor - float
KubeletConfiguration.mergeDefaultEvictionSettings 10- bool
KubeletConfiguration.nodeLeaseDurationSeconds - int
KubeletConfiguration.nodeStatusMaxImages - int
KubeletConfiguration.nodeStatusReportFrequency - duration
KubeletConfiguration.nodeStatusUpdateFrequency - duration
KubeletConfiguration.oomScoreAdj - int
KubeletConfiguration.podCIDR - text
KubeletConfiguration.podLogsDir 7- text
KubeletConfiguration.podPidsLimit - int
KubeletConfiguration.podsPerCore - int
KubeletConfiguration.port - int
KubeletConfiguration.preloadedImagesVerificationAllowlist 10- []text
KubeletConfiguration.protectKernelDefaults - bool
KubeletConfiguration.providerID - text
KubeletConfiguration.qosReserved - {}text
KubeletConfiguration.readOnlyPort - int
KubeletConfiguration.registerNode - bool
KubeletConfiguration.registerWithTaints - []struct
KubeletConfiguration.registerWithTaints.*.effect - text
KubeletConfiguration.registerWithTaints.*.key - text
KubeletConfiguration.registerWithTaints.*.timeAdded - text
KubeletConfiguration.registerWithTaints.*.value - text
KubeletConfiguration.registryBurst - int
KubeletConfiguration.registryPullQPS - int
KubeletConfiguration.reservedMemory - []struct
KubeletConfiguration.reservedMemory.*.limits - {}quantity
KubeletConfiguration.reservedMemory.*.numaNode - int
KubeletConfiguration.reservedSystemCPUs - text
KubeletConfiguration.resolvConf - text
KubeletConfiguration.rotateCertificates - bool
KubeletConfiguration.runOnce - bool
KubeletConfiguration.runtimeRequestTimeout - duration
KubeletConfiguration.seccompDefault - bool
KubeletConfiguration.serializeImagePulls - bool
KubeletConfiguration.serverTLSBootstrap - bool
KubeletConfiguration.showHiddenMetricsForVersion - text
KubeletConfiguration.shutdownGracePeriod - duration
KubeletConfiguration.shutdownGracePeriodByPodPriority - []struct
KubeletConfiguration.shutdownGracePeriodByPodPriority.*.priority - int
KubeletConfiguration.shutdownGracePeriodByPodPriority.*.shutdownGracePeriodSeconds - int
KubeletConfiguration.shutdownGracePeriodCriticalPods - duration
KubeletConfiguration.singleProcessOOMKill 9- bool
KubeletConfiguration.staticPodPath - text
KubeletConfiguration.staticPodURL - text
KubeletConfiguration.staticPodURLHeader - {}[]text
KubeletConfiguration.streamingConnectionIdleTimeout - duration
KubeletConfiguration.syncFrequency - duration
KubeletConfiguration.systemCgroups - text
KubeletConfiguration.systemReserved - {}text
KubeletConfiguration.systemReservedCgroup - text
KubeletConfiguration.tlsCertFile - text
KubeletConfiguration.tlsCipherSuites - []text
KubeletConfiguration.tlsCurvePreferences 13- []int
KubeletConfiguration.tlsMinVersion - text
KubeletConfiguration.tlsPrivateKeyFile - text
KubeletConfiguration.topologyManagerPolicy - text
KubeletConfiguration.topologyManagerPolicyOptions - {}text
KubeletConfiguration.topologyManagerScope - text
KubeletConfiguration.tracing - struct
KubeletConfiguration.tracing.endpoint - text
KubeletConfiguration.tracing.samplingRatePerMillion - int
KubeletConfiguration.userNamespaces 10- struct
KubeletConfiguration.userNamespaces.idsPerPod 10- int
KubeletConfiguration.volumePluginDir - text
KubeletConfiguration.volumeStatsAggPeriod - duration
`;

/**
 * What a kind of document does not stand beside: versions, the kind, the path in the older shape, and what has to be there:
 * something (`set`), something that is neither empty nor zero (`full`), or `true`. Then, what of the document has to be so, too:
 * a name (`name=NAME`), or a field that says something.
 */
export const CONFLICT_TABLE = `
14- CRIBaseRuntimeSpecConfig machine.baseRuntimeSpecOverrides full
14- DiscoveryIdentityConfig cluster.id full
14- DiscoveryIdentityConfig cluster.secret full
14- DiscoveryServiceConfig cluster.discovery set
12- HostnameConfig machine.features.stableHostname true
12- HostnameConfig machine.network.hostname full
14- ImageCacheConfig machine.features.imageCache set
14- KubeAPIServerCAConfig cluster.ca set
14- KubeAPIServerConfig cluster.apiServer set
14- KubeAPIServerConfig cluster.controlPlane.localAPIServerPort full
14- KubeAdmissionControlConfig cluster.apiServer.admissionControl full
14- KubeAggregatorCAConfig cluster.aggregatorCA set
14- KubeAuditPolicyConfig cluster.apiServer.auditPolicy full
14- KubeAuthorizerConfig cluster.apiServer.admissionControl full
14- KubeClusterConfig cluster.clusterName full
14- KubeClusterConfig cluster.controlPlane.endpoint set
14- KubeControllerManagerConfig cluster.controllerManager set
14- KubeControllerManagerConfig machine.controlPlane.controllerManager set
14- KubeCoreDNSConfig cluster.coreDNS set
14- KubeCredentialProviderConfig machine.kubelet set
14- KubeEtcdEncryptionConfig cluster.aescbcEncryptionSecret full
14- KubeEtcdEncryptionConfig cluster.secretboxEncryptionSecret full
14- KubeFlannelCNIConfig cluster.network set
14- KubeNetworkConfig cluster.network set
14- KubeNodeConfig cluster.allowSchedulingOnControlPlanes set
14- KubeNodeConfig cluster.allowSchedulingOnMasters set
14- KubeNodeConfig machine.kubelet.nodeIP set
14- KubeNodeConfig machine.kubelet.registerWithFQDN set
14- KubeNodeConfig machine.kubelet.skipNodeRegistration set
14- KubeNodeConfig machine.nodeAnnotations set
14- KubeNodeConfig machine.nodeLabels set
14- KubeNodeConfig machine.nodeTaints set
14- KubePrismConfig machine.features.kubePrism set
14- KubeProxyConfig cluster.proxy set
14- KubeSchedulerConfig cluster.scheduler set
14- KubeSchedulerConfig machine.controlPlane.scheduler set
14- KubeServiceAccountConfig cluster.serviceAccount set
13- KubeSpanConfig machine.network.kubespan set
14- KubeTalosAPIAccessConfig machine.features.kubernetesTalosAPIAccess set
14- KubeletConfig machine.kubelet set
14- ResolverConfig machine.features.hostDNS set hostDNS
12- ResolverConfig machine.network.disableSearchDomain true
12- ResolverConfig machine.network.nameservers full
12- ResolverConfig machine.network.searchDomains full
14- ResolverConfig machine.network.searchDomains set
12- TimeSyncConfig machine.time.bootTimeout full
12- TimeSyncConfig machine.time.disabled true
12- TimeSyncConfig machine.time.servers full
14- UnattendedInstallConfig machine.install set
11- VolumeConfig machine.systemDiskEncryption.ephemeral set name=EPHEMERAL encryption
11- VolumeConfig machine.systemDiskEncryption.state set name=STATE encryption
`;

/** Kinds that do not stand beside each other with one name: versions, and the two. */
export const NAMESAKE_TABLE = `
12- BondConfig BridgeConfig
12- BondConfig DummyLinkConfig
12- BondConfig LinkConfig
12- BondConfig VLANConfig
13- BondConfig VRFConfig
14- BondConfig VethConfig
12- BondConfig WireguardConfig
12- BridgeConfig DummyLinkConfig
12- BridgeConfig LinkConfig
12- BridgeConfig VLANConfig
13- BridgeConfig VRFConfig
14- BridgeConfig VethConfig
12- BridgeConfig WireguardConfig
12- DummyLinkConfig LinkConfig
12- DummyLinkConfig VLANConfig
13- DummyLinkConfig VRFConfig
14- DummyLinkConfig VethConfig
12- DummyLinkConfig WireguardConfig
11- ExistingVolumeConfig UserVolumeConfig
12- HCloudVIPConfig Layer2VIPConfig
12- LinkConfig VLANConfig
13- LinkConfig VRFConfig
14- LinkConfig VethConfig
12- LinkConfig WireguardConfig
13- VLANConfig VRFConfig
14- VLANConfig VethConfig
12- VLANConfig WireguardConfig
14- VRFConfig VethConfig
13- VRFConfig WireguardConfig
14- VethConfig WireguardConfig
`;

/** Kinds that only control planes may have. */
export const CONTROL_PLANE_TABLE = `
14- KubeAPIServerConfig
14- KubeAdmissionControlConfig
14- KubeAggregatorCAConfig
14- KubeAuditPolicyConfig
14- KubeAuthenticationConfig
14- KubeAuthorizerConfig
14- KubeControllerManagerConfig
14- KubeCoreDNSConfig
14- KubeEtcdEncryptionConfig
14- KubeFlannelCNIConfig
14- KubeProxyConfig
14- KubeSchedulerConfig
14- KubeServiceAccountConfig
14- KubeTalosAPIAccessConfig
`;
