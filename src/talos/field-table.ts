// Made by scripts/talos-fields.ts: change that, not this file.
// Sources: the Go types of github.com/siderolabs/talos/pkg/machinery v1.3.0, v1.3.7, v1.4.0, v1.4.8, v1.5.0, v1.5.6, v1.6.0, v1.6.8, v1.7.0, v1.7.7, v1.8.0, v1.8.4, v1.9.0, v1.9.6, v1.10.0, v1.10.9, v1.11.0, v1.11.6, v1.12.0, v1.12.11, v1.13.0, v1.13.9, v1.14.1, v1.15-ad8823176.

/**
 * The fields of every document that Talos 1.3 to 1.15 reads, one a line: path, versions (minor; empty is "from the first" or
 * "to the last"), `!minor` since when it is deprecated, and what took its place (`-` is nothing at all). Paths begin with the document's kind, or with
 * v1alpha1 for the one without; `*` is any item of a list or any key of a mapping. What stands below a field without fields of
 * its own is free.
 */
export const FIELD_TABLE = `
BGPInstanceConfig 14-
BGPInstanceConfig.advertise 14-
BGPInstanceConfig.apiVersion 14-
BGPInstanceConfig.importRoutes 14-
BGPInstanceConfig.importRoutes.*.bgpInstance 14-
BGPInstanceConfig.importRoutes.*.prefixes 14-
BGPInstanceConfig.installRoutes 14-
BGPInstanceConfig.kind 14-
BGPInstanceConfig.localASN 14-
BGPInstanceConfig.maxPaths 14-
BGPInstanceConfig.multipath 14-
BGPInstanceConfig.name 14-
BGPInstanceConfig.neighbors 14-
BGPInstanceConfig.neighbors.*.address 14-
BGPInstanceConfig.neighbors.*.bfd 14-
BGPInstanceConfig.neighbors.*.bfd.detectMultiplier 14-
BGPInstanceConfig.neighbors.*.bfd.receiveInterval 14-
BGPInstanceConfig.neighbors.*.bfd.transmitInterval 14-
BGPInstanceConfig.neighbors.*.holdTime 14-
BGPInstanceConfig.neighbors.*.link 14-
BGPInstanceConfig.neighbors.*.localASN 14-
BGPInstanceConfig.neighbors.*.passive 14-
BGPInstanceConfig.neighbors.*.peerASN 14-
BGPInstanceConfig.routeSource 14-
BGPInstanceConfig.routerID 14-
BGPInstanceConfig.vrf 14-
BlackholeRouteConfig 13-
BlackholeRouteConfig.apiVersion 13-
BlackholeRouteConfig.kind 13-
BlackholeRouteConfig.metric 13-
BlackholeRouteConfig.name 13-
BondConfig 12-
BondConfig.adActorSysPrio 12-
BondConfig.adLACPActive 12-
BondConfig.adSelect 12-
BondConfig.adUserPortKey 12-
BondConfig.addresses 12-
BondConfig.addresses.*.address 12-
BondConfig.addresses.*.routePriority 12-
BondConfig.allSlavesActive 12-
BondConfig.apiVersion 12-
BondConfig.arpAllTargets 12-
BondConfig.arpInterval 12-
BondConfig.arpIpTargets 12-
BondConfig.arpValidate 12-
BondConfig.bondMode 12-
BondConfig.downdelay 12-
BondConfig.failOverMac 12-
BondConfig.hardwareAddr 12-
BondConfig.kind 12-
BondConfig.lacpRate 12-
BondConfig.links 12-
BondConfig.lpInterval 12-
BondConfig.miimon 12-
BondConfig.minLinks 12-
BondConfig.missedMax 12-
BondConfig.mtu 12-
BondConfig.multicast 12-
BondConfig.name 12-
BondConfig.nsIp6Targets 12-
BondConfig.numPeerNotif 12-
BondConfig.packetsPerSlave 12-
BondConfig.peerNotifDelay 12-
BondConfig.primary 15-
BondConfig.primaryReselect 12-
BondConfig.resendIGMP 12-
BondConfig.routes 12-
BondConfig.routes.*.destination 12-
BondConfig.routes.*.gateway 12-
BondConfig.routes.*.metric 12-
BondConfig.routes.*.mtu 12-
BondConfig.routes.*.source 12-
BondConfig.routes.*.table 12-
BondConfig.tlbLogicalLb 12-
BondConfig.up 12-
BondConfig.updelay 12-
BondConfig.useCarrier 12-
BondConfig.xmitHashPolicy 12-
BridgeConfig 12-
BridgeConfig.addresses 12-
BridgeConfig.addresses.*.address 12-
BridgeConfig.addresses.*.routePriority 12-
BridgeConfig.apiVersion 12-
BridgeConfig.hardwareAddr 12-
BridgeConfig.kind 12-
BridgeConfig.links 12-
BridgeConfig.mtu 12-
BridgeConfig.multicast 12-
BridgeConfig.name 12-
BridgeConfig.routes 12-
BridgeConfig.routes.*.destination 12-
BridgeConfig.routes.*.gateway 12-
BridgeConfig.routes.*.metric 12-
BridgeConfig.routes.*.mtu 12-
BridgeConfig.routes.*.source 12-
BridgeConfig.routes.*.table 12-
BridgeConfig.stp 12-
BridgeConfig.stp.enabled 12-
BridgeConfig.up 12-
BridgeConfig.vlan 12-
BridgeConfig.vlan.filtering 12-
CRIBaseRuntimeSpecConfig 14-
CRIBaseRuntimeSpecConfig.apiVersion 14-
CRIBaseRuntimeSpecConfig.kind 14-
CRIBaseRuntimeSpecConfig.overrides 14-
CRICustomizationConfig 14-
CRICustomizationConfig.apiVersion 14-
CRICustomizationConfig.content 14-
CRICustomizationConfig.kind 14-
CRICustomizationConfig.name 14-
ContainerConfig 14-
ContainerConfig.apiVersion 14-
ContainerConfig.args 14-
ContainerConfig.dependsOn 14-
ContainerConfig.dependsOn.containers 14-
ContainerConfig.dependsOn.networks 14-
ContainerConfig.dependsOn.paths 14-
ContainerConfig.dependsOn.time 14-
ContainerConfig.entrypoint 14-
ContainerConfig.environment 14-
ContainerConfig.image 14-
ContainerConfig.kind 14-
ContainerConfig.mounts 14-
ContainerConfig.mounts.*.hostPath 14-
ContainerConfig.mounts.*.hostPath.destination 14-
ContainerConfig.mounts.*.hostPath.options 14-
ContainerConfig.mounts.*.hostPath.source 14-
ContainerConfig.mounts.*.tmpfs 14-
ContainerConfig.mounts.*.tmpfs.destination 14-
ContainerConfig.mounts.*.tmpfs.options 14-
ContainerConfig.mounts.*.tmpfs.size 14-
ContainerConfig.mounts.*.userVolume 14-
ContainerConfig.mounts.*.userVolume.destination 14-
ContainerConfig.mounts.*.userVolume.name 14-
ContainerConfig.mounts.*.userVolume.options 14-
ContainerConfig.name 14-
ContainerConfig.network 14-
ContainerConfig.network.mode 14-
ContainerConfig.resources 14-
ContainerConfig.resources.limits 14-
ContainerConfig.resources.limits.cpu 14-
ContainerConfig.resources.limits.memory 14-
ContainerConfig.runAs 14-
ContainerConfig.runAs.gid 14-
ContainerConfig.runAs.uid 14-
ContainerConfig.security 14-
ContainerConfig.security.capabilities 14-
ContainerConfig.security.capabilities.add 14-
ContainerConfig.security.capabilities.drop 14-
ContainerConfig.security.machinedAccess 14-
ContainerConfig.security.profile 14-
ContainerConfig.workingDir 14-
DHCPv4Config 12-
DHCPv4Config.apiVersion 12-
DHCPv4Config.clientIdentifier 12-
DHCPv4Config.duidRaw 12-
DHCPv4Config.ignoreHostname 12-
DHCPv4Config.ignoreRoutes 14-
DHCPv4Config.kind 12-
DHCPv4Config.name 12-
DHCPv4Config.routeMetric 12-
DHCPv6Config 12-
DHCPv6Config.apiVersion 12-
DHCPv6Config.clientIdentifier 12-
DHCPv6Config.duidRaw 12-
DHCPv6Config.ignoreHostname 12-
DHCPv6Config.kind 12-
DHCPv6Config.name 12-
DHCPv6Config.routeMetric 12-
DiscoveryIdentityConfig 14-
DiscoveryIdentityConfig.apiVersion 14-
DiscoveryIdentityConfig.clusterID 14-
DiscoveryIdentityConfig.clusterSecret 14-
DiscoveryIdentityConfig.kind 14-
DiscoveryServiceConfig 14-
DiscoveryServiceConfig.apiVersion 14-
DiscoveryServiceConfig.endpoint 14-
DiscoveryServiceConfig.kind 14-
DiscoveryServiceConfig.name 14-
DummyLinkConfig 12-
DummyLinkConfig.addresses 12-
DummyLinkConfig.addresses.*.address 12-
DummyLinkConfig.addresses.*.routePriority 12-
DummyLinkConfig.apiVersion 12-
DummyLinkConfig.hardwareAddr 12-
DummyLinkConfig.kind 12-
DummyLinkConfig.mtu 12-
DummyLinkConfig.multicast 12-
DummyLinkConfig.name 12-
DummyLinkConfig.routes 12-
DummyLinkConfig.routes.*.destination 12-
DummyLinkConfig.routes.*.gateway 12-
DummyLinkConfig.routes.*.metric 12-
DummyLinkConfig.routes.*.mtu 12-
DummyLinkConfig.routes.*.source 12-
DummyLinkConfig.routes.*.table 12-
DummyLinkConfig.up 12-
EnvironmentConfig 13-
EnvironmentConfig.apiVersion 13-
EnvironmentConfig.kind 13-
EnvironmentConfig.variables 13-
EtcFileConfig 14-
EtcFileConfig.apiVersion 14-
EtcFileConfig.contents 14-
EtcFileConfig.kind 14-
EtcFileConfig.mode 14-
EtcFileConfig.name 14-
EthernetConfig 10-
EthernetConfig.apiVersion 10-
EthernetConfig.channels 10-
EthernetConfig.channels.combined 10-
EthernetConfig.channels.other 10-
EthernetConfig.channels.rx 10-
EthernetConfig.channels.tx 10-
EthernetConfig.features 10-
EthernetConfig.kind 10-
EthernetConfig.name 10-
EthernetConfig.rings 10-
EthernetConfig.rings.cqe-size 10-
EthernetConfig.rings.rx 10-
EthernetConfig.rings.rx-buf-len 10-
EthernetConfig.rings.rx-jumbo 10-
EthernetConfig.rings.rx-mini 10-
EthernetConfig.rings.rx-push 10-
EthernetConfig.rings.tcp-data-split 10-
EthernetConfig.rings.tx 10-
EthernetConfig.rings.tx-push 10-
EthernetConfig.rings.tx-push-buf-len 10-
EthernetConfig.wakeOnLan 12-
EventSinkConfig 5-
EventSinkConfig.apiVersion 5-
EventSinkConfig.endpoint 5-
EventSinkConfig.kind 5-
ExistingVolumeConfig 11-
ExistingVolumeConfig.apiVersion 11-
ExistingVolumeConfig.discovery 11-
ExistingVolumeConfig.discovery.volumeSelector 11-
ExistingVolumeConfig.discovery.volumeSelector.match 11-
ExistingVolumeConfig.kind 11-
ExistingVolumeConfig.mount 11-
ExistingVolumeConfig.mount.disableAccessTime 13-
ExistingVolumeConfig.mount.readOnly 11-
ExistingVolumeConfig.mount.secure 13-
ExistingVolumeConfig.name 11-
ExistingVolumeConfig.scrub 14-
ExistingVolumeConfig.scrub.enabled 14-
ExistingVolumeConfig.scrub.interval 14-
ExistingVolumeConfig.trim 14-
ExistingVolumeConfig.trim.enabled 14-
ExistingVolumeConfig.trim.interval 14-
ExtensionServiceConfig 7-
ExtensionServiceConfig.apiVersion 7-
ExtensionServiceConfig.configFiles 7-
ExtensionServiceConfig.configFiles.*.content 7-
ExtensionServiceConfig.configFiles.*.mountPath 7-
ExtensionServiceConfig.environment 7-
ExtensionServiceConfig.kind 7-
ExtensionServiceConfig.name 7-
ExternalVolumeConfig 13-
ExternalVolumeConfig.apiVersion 13-
ExternalVolumeConfig.filesystemType 13-
ExternalVolumeConfig.kind 13-
ExternalVolumeConfig.mount 13-
ExternalVolumeConfig.mount.disableAccessTime 13-
ExternalVolumeConfig.mount.readOnly 13-
ExternalVolumeConfig.mount.secure 13-
ExternalVolumeConfig.mount.virtiofs 13-
ExternalVolumeConfig.mount.virtiofs.tag 13-
ExternalVolumeConfig.name 13-
FilesystemScrubConfig 14-
FilesystemScrubConfig.apiVersion 14-
FilesystemScrubConfig.interval 14-
FilesystemScrubConfig.kind 14-
FilesystemTrimConfig 14-
FilesystemTrimConfig.apiVersion 14-
FilesystemTrimConfig.interval 14-
FilesystemTrimConfig.kind 14-
HCloudVIPConfig 12-
HCloudVIPConfig.apiToken 12-
HCloudVIPConfig.apiVersion 12-
HCloudVIPConfig.kind 12-
HCloudVIPConfig.link 12-
HCloudVIPConfig.name 12-
HTTPProbeConfig 14-
HTTPProbeConfig.apiVersion 14-
HTTPProbeConfig.failureThreshold 14-
HTTPProbeConfig.interval 14-
HTTPProbeConfig.kind 14-
HTTPProbeConfig.name 14-
HTTPProbeConfig.timeout 14-
HTTPProbeConfig.url 14-
HostnameConfig 12-
HostnameConfig.apiVersion 12-
HostnameConfig.auto 12-
HostnameConfig.hostname 12-
HostnameConfig.kind 12-
ImageCacheConfig 14-
ImageCacheConfig.apiVersion 14-
ImageCacheConfig.kind 14-
ImageCacheConfig.local 14-
ImageCacheConfig.local.enabled 14-
ImageVerificationConfig 13-
ImageVerificationConfig.apiVersion 13-
ImageVerificationConfig.kind 13-
ImageVerificationConfig.rules 13-
ImageVerificationConfig.rules.*.deny 13-
ImageVerificationConfig.rules.*.image 13-
ImageVerificationConfig.rules.*.keyless 13-
ImageVerificationConfig.rules.*.keyless.issuer 13-
ImageVerificationConfig.rules.*.keyless.subject 13-
ImageVerificationConfig.rules.*.keyless.subjectRegex 13-
ImageVerificationConfig.rules.*.publicKey 13-
ImageVerificationConfig.rules.*.publicKey.certificate 13-
ImageVerificationConfig.rules.*.skip 13-
KernelModuleConfig 14-
KernelModuleConfig.apiVersion 14-
KernelModuleConfig.kind 14-
KernelModuleConfig.name 14-
KernelModuleConfig.parameters 14-
KmsgLogConfig 5-
KmsgLogConfig.apiVersion 5-
KmsgLogConfig.kind 5-
KmsgLogConfig.name 5-
KmsgLogConfig.url 5-
KubeAPIServerCAConfig 14-
KubeAPIServerCAConfig.acceptedCAs 14-
KubeAPIServerCAConfig.apiVersion 14-
KubeAPIServerCAConfig.issuingCA 14-
KubeAPIServerCAConfig.issuingCA.cert 14-
KubeAPIServerCAConfig.issuingCA.key 14-
KubeAPIServerCAConfig.kind 14-
KubeAPIServerConfig 14-
KubeAPIServerConfig.apiPort 14-
KubeAPIServerConfig.apiVersion 14-
KubeAPIServerConfig.certExtraSANs 14-
KubeAPIServerConfig.env 14-
KubeAPIServerConfig.extraArgs 14-
KubeAPIServerConfig.image 14-
KubeAPIServerConfig.kind 14-
KubeAPIServerConfig.resources 14-
KubeAPIServerConfig.resources.limits 14-
KubeAPIServerConfig.resources.requests 14-
KubeAPIServerConfig.startupProbes 14-
KubeAdmissionControlConfig 14-
KubeAdmissionControlConfig.apiVersion 14-
KubeAdmissionControlConfig.configuration 14-
KubeAdmissionControlConfig.kind 14-
KubeAdmissionControlConfig.name 14-
KubeAggregatorCAConfig 14-
KubeAggregatorCAConfig.acceptedCAs 14-
KubeAggregatorCAConfig.apiVersion 14-
KubeAggregatorCAConfig.issuingCA 14-
KubeAggregatorCAConfig.issuingCA.cert 14-
KubeAggregatorCAConfig.issuingCA.key 14-
KubeAggregatorCAConfig.kind 14-
KubeAuditPolicyConfig 14-
KubeAuditPolicyConfig.apiVersion 14-
KubeAuditPolicyConfig.configuration 14-
KubeAuditPolicyConfig.kind 14-
KubeAuthenticationConfig 14-
KubeAuthenticationConfig.apiVersion 14-
KubeAuthenticationConfig.configuration 14-
KubeAuthenticationConfig.kind 14-
KubeAuthorizerConfig 14-
KubeAuthorizerConfig.apiVersion 14-
KubeAuthorizerConfig.kind 14-
KubeAuthorizerConfig.name 14-
KubeAuthorizerConfig.type 14-
KubeAuthorizerConfig.webhook 14-
KubeClusterConfig 14-
KubeClusterConfig.apiVersion 14-
KubeClusterConfig.clusterName 14-
KubeClusterConfig.endpoint 14-
KubeClusterConfig.kind 14-
KubeControllerManagerConfig 14-
KubeControllerManagerConfig.apiVersion 14-
KubeControllerManagerConfig.enabled 14-
KubeControllerManagerConfig.env 14-
KubeControllerManagerConfig.extraArgs 14-
KubeControllerManagerConfig.image 14-
KubeControllerManagerConfig.kind 14-
KubeControllerManagerConfig.resources 14-
KubeControllerManagerConfig.resources.limits 14-
KubeControllerManagerConfig.resources.requests 14-
KubeCoreDNSConfig 14-
KubeCoreDNSConfig.apiVersion 14-
KubeCoreDNSConfig.enabled 14-
KubeCoreDNSConfig.image 14-
KubeCoreDNSConfig.kind 14-
KubeCredentialProviderConfig 14-
KubeCredentialProviderConfig.apiVersion 14-
KubeCredentialProviderConfig.configuration 14-
KubeCredentialProviderConfig.kind 14-
KubeEtcdEncryptionConfig 14-
KubeEtcdEncryptionConfig.apiVersion 14-
KubeEtcdEncryptionConfig.config 14-
KubeEtcdEncryptionConfig.kind 14-
KubeExternalManifestConfig 14-
KubeExternalManifestConfig.apiVersion 14-
KubeExternalManifestConfig.headers 14-
KubeExternalManifestConfig.kind 14-
KubeExternalManifestConfig.name 14-
KubeExternalManifestConfig.url 14-
KubeFlannelCNIConfig 14-
KubeFlannelCNIConfig.apiVersion 14-
KubeFlannelCNIConfig.backendExtraConfig 14-
KubeFlannelCNIConfig.backendMTU 14-
KubeFlannelCNIConfig.backendPort 14-
KubeFlannelCNIConfig.backendType 14-
KubeFlannelCNIConfig.extraArgs 14-
KubeFlannelCNIConfig.kind 14-
KubeFlannelCNIConfig.kubeNetworkPoliciesEnabled 14-
KubeFlannelCNIConfig.resources 14-
KubeFlannelCNIConfig.resources.limits 14-
KubeFlannelCNIConfig.resources.requests 14-
KubeInlineManifestConfig 14-
KubeInlineManifestConfig.apiVersion 14-
KubeInlineManifestConfig.kind 14-
KubeInlineManifestConfig.manifest 14-
KubeInlineManifestConfig.name 14-
KubeNetworkConfig 14-
KubeNetworkConfig.apiVersion 14-
KubeNetworkConfig.dnsDomain 14-
KubeNetworkConfig.kind 14-
KubeNetworkConfig.nodeCIDRMaskSizeIPv4 14-
KubeNetworkConfig.nodeCIDRMaskSizeIPv6 14-
KubeNetworkConfig.podSubnets 14-
KubeNetworkConfig.serviceSubnets 14-
KubeNodeConfig 14-
KubeNodeConfig.annotations 14-
KubeNodeConfig.apiVersion 14-
KubeNodeConfig.kind 14-
KubeNodeConfig.labels 14-
KubeNodeConfig.nodeIP 14-
KubeNodeConfig.nodeIP.validSubnets 14-
KubeNodeConfig.registerWithFQDN 14-
KubeNodeConfig.skipNodeRegistration 14-
KubeNodeConfig.taints 14-
KubePrismConfig 14-
KubePrismConfig.apiVersion 14-
KubePrismConfig.kind 14-
KubePrismConfig.port 14-
KubePrismConfig.tlsServerName 14-
KubeProxyConfig 14-
KubeProxyConfig.apiVersion 14-
KubeProxyConfig.config 14-
KubeProxyConfig.enabled 14-
KubeProxyConfig.extraArgs 14-
KubeProxyConfig.image 14-
KubeProxyConfig.kind 14-
KubeProxyConfig.mode 14-
KubeProxyConfig.resources 14-
KubeProxyConfig.resources.limits 14-
KubeProxyConfig.resources.requests 14-
KubeSchedulerConfig 14-
KubeSchedulerConfig.apiVersion 14-
KubeSchedulerConfig.config 14-
KubeSchedulerConfig.enabled 14-
KubeSchedulerConfig.env 14-
KubeSchedulerConfig.extraArgs 14-
KubeSchedulerConfig.image 14-
KubeSchedulerConfig.kind 14-
KubeSchedulerConfig.resources 14-
KubeSchedulerConfig.resources.limits 14-
KubeSchedulerConfig.resources.requests 14-
KubeServiceAccountConfig 14-
KubeServiceAccountConfig.accepted 14-
KubeServiceAccountConfig.accepted.audiences 14-
KubeServiceAccountConfig.accepted.issuers 14-
KubeServiceAccountConfig.accepted.publicKeys 14-
KubeServiceAccountConfig.apiVersion 14-
KubeServiceAccountConfig.issuer 14-
KubeServiceAccountConfig.issuer.issuerURL 14-
KubeServiceAccountConfig.issuer.privateKey 14-
KubeServiceAccountConfig.kind 14-
KubeSpanConfig 13-
KubeSpanConfig.advertiseKubernetesNetworks 13-
KubeSpanConfig.allowDownPeerBypass 13-
KubeSpanConfig.apiVersion 13-
KubeSpanConfig.enabled 13-
KubeSpanConfig.filters 13-
KubeSpanConfig.filters.endpoints 13-
KubeSpanConfig.filters.excludeAdvertisedNetworks 13-
KubeSpanConfig.harvestExtraEndpoints 13-
KubeSpanConfig.kind 13-
KubeSpanConfig.mtu 13-
KubeSpanEndpointsConfig 8-
KubeSpanEndpointsConfig.apiVersion 8-
KubeSpanEndpointsConfig.extraAnnouncedEndpoints 8-
KubeSpanEndpointsConfig.kind 8-
KubeStaticPodConfig 14-
KubeStaticPodConfig.apiVersion 14-
KubeStaticPodConfig.kind 14-
KubeStaticPodConfig.name 14-
KubeStaticPodConfig.pod 14-
KubeTalosAPIAccessConfig 14-
KubeTalosAPIAccessConfig.allowedKubernetesNamespaces 14-
KubeTalosAPIAccessConfig.allowedRoles 14-
KubeTalosAPIAccessConfig.apiVersion 14-
KubeTalosAPIAccessConfig.kind 14-
KubeletConfig 14-
KubeletConfig.apiVersion 14-
KubeletConfig.clusterDNS 14-
KubeletConfig.config 14-
KubeletConfig.defaultRuntimeSeccompProfileEnabled 14-
KubeletConfig.extraArgs 14-
KubeletConfig.image 14-
KubeletConfig.kind 14-
LVMLogicalVolumeConfig 14-
LVMLogicalVolumeConfig.apiVersion 14-
LVMLogicalVolumeConfig.kind 14-
LVMLogicalVolumeConfig.mirrors 14-
LVMLogicalVolumeConfig.name 14-
LVMLogicalVolumeConfig.provisioning 14-
LVMLogicalVolumeConfig.provisioning.maxSize 14-
LVMLogicalVolumeConfig.provisioning.minSize 14-
LVMLogicalVolumeConfig.provisioning.volumeGroup 14-
LVMLogicalVolumeConfig.stripes 14-
LVMLogicalVolumeConfig.type 14-
LVMVolumeGroupConfig 14-
LVMVolumeGroupConfig.apiVersion 14-
LVMVolumeGroupConfig.kind 14-
LVMVolumeGroupConfig.name 14-
LVMVolumeGroupConfig.provisioning 14-
LVMVolumeGroupConfig.provisioning.volumeSelector 14-
LVMVolumeGroupConfig.provisioning.volumeSelector.match 14-
Layer2VIPConfig 12-
Layer2VIPConfig.apiVersion 12-
Layer2VIPConfig.kind 12-
Layer2VIPConfig.link 12-
Layer2VIPConfig.name 12-
LinkAliasConfig 12-
LinkAliasConfig.apiVersion 12-
LinkAliasConfig.kind 12-
LinkAliasConfig.name 12-
LinkAliasConfig.selector 12-
LinkAliasConfig.selector.match 12-
LinkConfig 12-
LinkConfig.addresses 12-
LinkConfig.addresses.*.address 12-
LinkConfig.addresses.*.routePriority 12-
LinkConfig.apiVersion 12-
LinkConfig.kind 12-
LinkConfig.mtu 12-
LinkConfig.multicast 12-
LinkConfig.name 12-
LinkConfig.routes 12-
LinkConfig.routes.*.destination 12-
LinkConfig.routes.*.gateway 12-
LinkConfig.routes.*.metric 12-
LinkConfig.routes.*.mtu 12-
LinkConfig.routes.*.source 12-
LinkConfig.routes.*.table 12-
LinkConfig.up 12-
NetworkDefaultActionConfig 6-
NetworkDefaultActionConfig.apiVersion 6-
NetworkDefaultActionConfig.ingress 6-
NetworkDefaultActionConfig.kind 6-
NetworkRuleConfig 6-
NetworkRuleConfig.apiVersion 6-
NetworkRuleConfig.ingress 6-
NetworkRuleConfig.ingress.*.except 6-
NetworkRuleConfig.ingress.*.subnet 6-
NetworkRuleConfig.kind 6-
NetworkRuleConfig.name 6-
NetworkRuleConfig.portSelector 6-
NetworkRuleConfig.portSelector.ports 6-
NetworkRuleConfig.portSelector.protocol 6-
OOMConfig 12-
OOMConfig.apiVersion 12-
OOMConfig.cgroupRankingExpression 12-
OOMConfig.kind 12-
OOMConfig.sampleInterval 12-
OOMConfig.strictCgroupClassOrdering 12-
OOMConfig.triggerExpression 12-
PCIDriverRebindConfig 10-
PCIDriverRebindConfig.apiVersion 10-
PCIDriverRebindConfig.kind 10-
PCIDriverRebindConfig.name 10-
PCIDriverRebindConfig.targetDriver 10-
RAIDArrayConfig 14-
RAIDArrayConfig.apiVersion 14-
RAIDArrayConfig.kind 14-
RAIDArrayConfig.level 14-
RAIDArrayConfig.metadata 14-
RAIDArrayConfig.name 14-
RAIDArrayConfig.provisioning 14-
RAIDArrayConfig.provisioning.volumeSelector 14-
RAIDArrayConfig.provisioning.volumeSelector.match 14-
RawVolumeConfig 11-
RawVolumeConfig.apiVersion 11-
RawVolumeConfig.encryption 11-
RawVolumeConfig.encryption.allowDiscards 14-
RawVolumeConfig.encryption.blockSize 11-
RawVolumeConfig.encryption.cipher 11-
RawVolumeConfig.encryption.keySize 11-
RawVolumeConfig.encryption.keys 11-
RawVolumeConfig.encryption.keys.*.kms 11-
RawVolumeConfig.encryption.keys.*.kms.endpoint 11-
RawVolumeConfig.encryption.keys.*.lockToState 11-
RawVolumeConfig.encryption.keys.*.nodeID 11-
RawVolumeConfig.encryption.keys.*.slot 11-
RawVolumeConfig.encryption.keys.*.static 11-
RawVolumeConfig.encryption.keys.*.static.passphrase 11-
RawVolumeConfig.encryption.keys.*.tpm 11-
RawVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11-
RawVolumeConfig.encryption.keys.*.tpm.options 12-
RawVolumeConfig.encryption.keys.*.tpm.options.pcrs 12-
RawVolumeConfig.encryption.options 11-
RawVolumeConfig.encryption.provider 11-
RawVolumeConfig.kind 11-
RawVolumeConfig.name 11-
RawVolumeConfig.provisioning 11-
RawVolumeConfig.provisioning.diskSelector 11-
RawVolumeConfig.provisioning.diskSelector.match 11-
RawVolumeConfig.provisioning.grow 11-
RawVolumeConfig.provisioning.maxSize 11-
RawVolumeConfig.provisioning.minSize 11-
RegistryAuthConfig 12-
RegistryAuthConfig.apiVersion 12-
RegistryAuthConfig.auth 12-
RegistryAuthConfig.identityToken 12-
RegistryAuthConfig.kind 12-
RegistryAuthConfig.name 12-
RegistryAuthConfig.password 12-
RegistryAuthConfig.username 12-
RegistryMirrorConfig 12-
RegistryMirrorConfig.apiVersion 12-
RegistryMirrorConfig.endpoints 12-
RegistryMirrorConfig.endpoints.*.overridePath 12-
RegistryMirrorConfig.endpoints.*.url 12-
RegistryMirrorConfig.kind 12-
RegistryMirrorConfig.name 12-
RegistryMirrorConfig.skipFallback 12-
RegistryTLSConfig 12-
RegistryTLSConfig.apiVersion 12-
RegistryTLSConfig.ca 12-
RegistryTLSConfig.clientIdentity 12-
RegistryTLSConfig.clientIdentity.cert 12-
RegistryTLSConfig.clientIdentity.key 12-
RegistryTLSConfig.insecureSkipVerify 12-
RegistryTLSConfig.kind 12-
RegistryTLSConfig.name 12-
ResolverConfig 12-
ResolverConfig.apiVersion 12-
ResolverConfig.hostDNS 14-
ResolverConfig.hostDNS.enabled 14-
ResolverConfig.hostDNS.forwardKubeDNSToHost 14-
ResolverConfig.hostDNS.resolveMemberNames 14-
ResolverConfig.kind 12-
ResolverConfig.nameservers 12-
ResolverConfig.nameservers.*.address 12-
ResolverConfig.nameservers.*.protocol 14-
ResolverConfig.nameservers.*.tlsServerName 14-
ResolverConfig.searchDomains 12-
ResolverConfig.searchDomains.disableDefault 12-
ResolverConfig.searchDomains.domains 12-
RoutingRuleConfig 13-
RoutingRuleConfig.action 13-
RoutingRuleConfig.apiVersion 13-
RoutingRuleConfig.dst 13-
RoutingRuleConfig.fwMark 13-
RoutingRuleConfig.fwMask 13-
RoutingRuleConfig.iifName 13-
RoutingRuleConfig.kind 13-
RoutingRuleConfig.name 13-
RoutingRuleConfig.oifName 13-
RoutingRuleConfig.src 13-
RoutingRuleConfig.table 13-
SecurityProfileConfig 14-
SecurityProfileConfig.apiVersion 14-
SecurityProfileConfig.kind 14-
SecurityProfileConfig.workloadIsolation 14-
SideroLinkConfig 5-
SideroLinkConfig.apiUrl 5-
SideroLinkConfig.apiVersion 5-
SideroLinkConfig.kind 5-
SideroLinkConfig.uniqueToken 10-
StaticHostConfig 12-
StaticHostConfig.apiVersion 12-
StaticHostConfig.hostnames 12-
StaticHostConfig.kind 12-
StaticHostConfig.name 12-
SwapVolumeConfig 11-
SwapVolumeConfig.apiVersion 11-
SwapVolumeConfig.encryption 11-
SwapVolumeConfig.encryption.allowDiscards 14-
SwapVolumeConfig.encryption.blockSize 11-
SwapVolumeConfig.encryption.cipher 11-
SwapVolumeConfig.encryption.keySize 11-
SwapVolumeConfig.encryption.keys 11-
SwapVolumeConfig.encryption.keys.*.kms 11-
SwapVolumeConfig.encryption.keys.*.kms.endpoint 11-
SwapVolumeConfig.encryption.keys.*.lockToState 11-
SwapVolumeConfig.encryption.keys.*.nodeID 11-
SwapVolumeConfig.encryption.keys.*.slot 11-
SwapVolumeConfig.encryption.keys.*.static 11-
SwapVolumeConfig.encryption.keys.*.static.passphrase 11-
SwapVolumeConfig.encryption.keys.*.tpm 11-
SwapVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11-
SwapVolumeConfig.encryption.keys.*.tpm.options 12-
SwapVolumeConfig.encryption.keys.*.tpm.options.pcrs 12-
SwapVolumeConfig.encryption.options 11-
SwapVolumeConfig.encryption.provider 11-
SwapVolumeConfig.kind 11-
SwapVolumeConfig.name 11-
SwapVolumeConfig.provisioning 11-
SwapVolumeConfig.provisioning.diskSelector 11-
SwapVolumeConfig.provisioning.diskSelector.match 11-
SwapVolumeConfig.provisioning.grow 11-
SwapVolumeConfig.provisioning.maxSize 11-
SwapVolumeConfig.provisioning.minSize 11-
SysctlConfig 14-
SysctlConfig.apiVersion 14-
SysctlConfig.kind 14-
SysctlConfig.params 14-
SysfsConfig 14-
SysfsConfig.apiVersion 14-
SysfsConfig.kind 14-
SysfsConfig.params 14-
TCPProbeConfig 13-
TCPProbeConfig.apiVersion 13-
TCPProbeConfig.endpoint 13-
TCPProbeConfig.failureThreshold 13-
TCPProbeConfig.interval 13-
TCPProbeConfig.kind 13-
TCPProbeConfig.name 13-
TCPProbeConfig.timeout 13-
TimeSyncConfig 12-
TimeSyncConfig.apiVersion 12-
TimeSyncConfig.bootTimeout 12-
TimeSyncConfig.enabled 12-
TimeSyncConfig.kind 12-
TimeSyncConfig.ntp 12-
TimeSyncConfig.ntp.servers 12-
TimeSyncConfig.ntp.useNTS 14-
TimeSyncConfig.ptp 12-
TimeSyncConfig.ptp.devices 12-
TrustedRootsConfig 8-
TrustedRootsConfig.apiVersion 8-
TrustedRootsConfig.certificates 8-
TrustedRootsConfig.kind 8-
TrustedRootsConfig.name 8-
UdevRulesConfig 14-
UdevRulesConfig.apiVersion 14-
UdevRulesConfig.kind 14-
UdevRulesConfig.rules 14-
UnattendedInstallConfig 14-
UnattendedInstallConfig.apiVersion 14-
UnattendedInstallConfig.installer 14-
UnattendedInstallConfig.installer.image 14-
UnattendedInstallConfig.kind 14-
UnattendedInstallConfig.provisioning 14-
UnattendedInstallConfig.provisioning.diskSelector 14-
UnattendedInstallConfig.provisioning.diskSelector.match 14-
UnattendedInstallConfig.provisioning.wipe 14-
UnattendedInstallConfig.reboot 14-
UserVolumeConfig 10-
UserVolumeConfig.apiVersion 10-
UserVolumeConfig.encryption 10-
UserVolumeConfig.encryption.allowDiscards 14-
UserVolumeConfig.encryption.blockSize 10-
UserVolumeConfig.encryption.cipher 10-
UserVolumeConfig.encryption.keySize 10-
UserVolumeConfig.encryption.keys 10-
UserVolumeConfig.encryption.keys.*.kms 10-
UserVolumeConfig.encryption.keys.*.kms.endpoint 10-
UserVolumeConfig.encryption.keys.*.lockToState 11-
UserVolumeConfig.encryption.keys.*.nodeID 10-
UserVolumeConfig.encryption.keys.*.slot 10-
UserVolumeConfig.encryption.keys.*.static 10-
UserVolumeConfig.encryption.keys.*.static.passphrase 10-
UserVolumeConfig.encryption.keys.*.tpm 10-
UserVolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 10-
UserVolumeConfig.encryption.keys.*.tpm.options 12-
UserVolumeConfig.encryption.keys.*.tpm.options.pcrs 12-
UserVolumeConfig.encryption.options 10-
UserVolumeConfig.encryption.provider 10-
UserVolumeConfig.filesystem 10-
UserVolumeConfig.filesystem.projectQuotaSupport 11-
UserVolumeConfig.filesystem.type 10-
UserVolumeConfig.filesystem.xfs 14-
UserVolumeConfig.filesystem.xfs.minAllocationGroupSize 14-
UserVolumeConfig.kind 10-
UserVolumeConfig.mount 13-
UserVolumeConfig.mount.disableAccessTime 13-
UserVolumeConfig.mount.secure 13-
UserVolumeConfig.name 10-
UserVolumeConfig.provisioning 10-
UserVolumeConfig.provisioning.diskSelector 10-
UserVolumeConfig.provisioning.diskSelector.match 10-
UserVolumeConfig.provisioning.grow 10-
UserVolumeConfig.provisioning.maxSize 10-
UserVolumeConfig.provisioning.minSize 10-
UserVolumeConfig.scrub 14-
UserVolumeConfig.scrub.enabled 14-
UserVolumeConfig.scrub.interval 14-
UserVolumeConfig.trim 14-
UserVolumeConfig.trim.enabled 14-
UserVolumeConfig.trim.interval 14-
UserVolumeConfig.volumeType 12-
VLANConfig 12-
VLANConfig.addresses 12-
VLANConfig.addresses.*.address 12-
VLANConfig.addresses.*.routePriority 12-
VLANConfig.apiVersion 12-
VLANConfig.kind 12-
VLANConfig.mtu 12-
VLANConfig.multicast 12-
VLANConfig.name 12-
VLANConfig.parent 12-
VLANConfig.routes 12-
VLANConfig.routes.*.destination 12-
VLANConfig.routes.*.gateway 12-
VLANConfig.routes.*.metric 12-
VLANConfig.routes.*.mtu 12-
VLANConfig.routes.*.source 12-
VLANConfig.routes.*.table 12-
VLANConfig.up 12-
VLANConfig.vlanID 12-
VLANConfig.vlanMode 12-
VRFConfig 13-
VRFConfig.addresses 13-
VRFConfig.addresses.*.address 13-
VRFConfig.addresses.*.routePriority 13-
VRFConfig.apiVersion 13-
VRFConfig.hardwareAddr 13-
VRFConfig.kind 13-
VRFConfig.links 13-
VRFConfig.mtu 13-
VRFConfig.multicast 13-
VRFConfig.name 13-
VRFConfig.routes 13-
VRFConfig.routes.*.destination 13-
VRFConfig.routes.*.gateway 13-
VRFConfig.routes.*.metric 13-
VRFConfig.routes.*.mtu 13-
VRFConfig.routes.*.source 13-
VRFConfig.routes.*.table 13-
VRFConfig.table 13-
VRFConfig.up 13-
VethConfig 14-
VethConfig.addresses 14-
VethConfig.addresses.*.address 14-
VethConfig.addresses.*.routePriority 14-
VethConfig.apiVersion 14-
VethConfig.kind 14-
VethConfig.mtu 14-
VethConfig.multicast 14-
VethConfig.name 14-
VethConfig.peer 14-
VethConfig.peer.addresses 14-
VethConfig.peer.addresses.*.address 14-
VethConfig.peer.addresses.*.routePriority 14-
VethConfig.peer.mtu 14-
VethConfig.peer.multicast 14-
VethConfig.peer.name 14-
VethConfig.peer.routes 14-
VethConfig.peer.routes.*.destination 14-
VethConfig.peer.routes.*.gateway 14-
VethConfig.peer.routes.*.metric 14-
VethConfig.peer.routes.*.mtu 14-
VethConfig.peer.routes.*.source 14-
VethConfig.peer.routes.*.table 14-
VethConfig.peer.up 14-
VethConfig.routes 14-
VethConfig.routes.*.destination 14-
VethConfig.routes.*.gateway 14-
VethConfig.routes.*.metric 14-
VethConfig.routes.*.mtu 14-
VethConfig.routes.*.source 14-
VethConfig.routes.*.table 14-
VethConfig.up 14-
VolumeConfig 8-
VolumeConfig.apiVersion 8-
VolumeConfig.encryption 11-
VolumeConfig.encryption.allowDiscards 14-
VolumeConfig.encryption.blockSize 11-
VolumeConfig.encryption.cipher 11-
VolumeConfig.encryption.keySize 11-
VolumeConfig.encryption.keys 11-
VolumeConfig.encryption.keys.*.kms 11-
VolumeConfig.encryption.keys.*.kms.endpoint 11-
VolumeConfig.encryption.keys.*.lockToState 11-
VolumeConfig.encryption.keys.*.nodeID 11-
VolumeConfig.encryption.keys.*.slot 11-
VolumeConfig.encryption.keys.*.static 11-
VolumeConfig.encryption.keys.*.static.passphrase 11-
VolumeConfig.encryption.keys.*.tpm 11-
VolumeConfig.encryption.keys.*.tpm.checkSecurebootStatusOnEnroll 11-
VolumeConfig.encryption.keys.*.tpm.options 12-
VolumeConfig.encryption.keys.*.tpm.options.pcrs 12-
VolumeConfig.encryption.options 11-
VolumeConfig.encryption.provider 11-
VolumeConfig.filesystem 14-
VolumeConfig.filesystem.xfs 14-
VolumeConfig.filesystem.xfs.minAllocationGroupSize 14-
VolumeConfig.kind 8-
VolumeConfig.mount 13-
VolumeConfig.mount.disableAccessTime 14-
VolumeConfig.mount.secure 13-
VolumeConfig.name 8-
VolumeConfig.provisioning 8-
VolumeConfig.provisioning.diskSelector 8-
VolumeConfig.provisioning.diskSelector.match 8-
VolumeConfig.provisioning.grow 8-
VolumeConfig.provisioning.maxSize 8-
VolumeConfig.provisioning.minSize 8-
VolumeConfig.scrub 14-
VolumeConfig.scrub.enabled 14-
VolumeConfig.scrub.interval 14-
VolumeConfig.trim 14-
VolumeConfig.trim.enabled 14-
VolumeConfig.trim.interval 14-
WatchdogTimerConfig 7-
WatchdogTimerConfig.apiVersion 7-
WatchdogTimerConfig.device 7-
WatchdogTimerConfig.kind 7-
WatchdogTimerConfig.timeout 7-
WireguardConfig 12-
WireguardConfig.addresses 12-
WireguardConfig.addresses.*.address 12-
WireguardConfig.addresses.*.routePriority 12-
WireguardConfig.apiVersion 12-
WireguardConfig.firewallMark 12-
WireguardConfig.kind 12-
WireguardConfig.listenPort 12-
WireguardConfig.mtu 12-
WireguardConfig.multicast 12-
WireguardConfig.name 12-
WireguardConfig.peers 12-
WireguardConfig.peers.*.allowedIPs 12-
WireguardConfig.peers.*.endpoint 12-
WireguardConfig.peers.*.persistentKeepaliveInterval 12-
WireguardConfig.peers.*.presharedKey 12-
WireguardConfig.peers.*.publicKey 12-
WireguardConfig.privateKey 12-
WireguardConfig.routes 12-
WireguardConfig.routes.*.destination 12-
WireguardConfig.routes.*.gateway 12-
WireguardConfig.routes.*.metric 12-
WireguardConfig.routes.*.mtu 12-
WireguardConfig.routes.*.source 12-
WireguardConfig.routes.*.table 12-
WireguardConfig.up 12-
ZswapConfig 11-
ZswapConfig.apiVersion 11-
ZswapConfig.kind 11-
ZswapConfig.maxPoolPercent 11-
ZswapConfig.shrinkerEnabled 11-
v1alpha1
v1alpha1.cluster
v1alpha1.cluster.acceptedCAs 7- !14 KubeAPIServerCAConfig
v1alpha1.cluster.acceptedCAs.*.crt 7-
v1alpha1.cluster.adminKubeconfig
v1alpha1.cluster.adminKubeconfig.certLifetime
v1alpha1.cluster.aescbcEncryptionSecret - !14 KubeEtcdEncryptionConfig
v1alpha1.cluster.aggregatorCA - !14 KubeAggregatorCAConfig
v1alpha1.cluster.aggregatorCA.crt
v1alpha1.cluster.aggregatorCA.key
v1alpha1.cluster.allowSchedulingOnControlPlanes - !14 KubeNodeConfig
v1alpha1.cluster.allowSchedulingOnMasters - !3 allowSchedulingOnControlPlanes
v1alpha1.cluster.apiServer - !14 KubeAPIServerConfig
v1alpha1.cluster.apiServer.admissionControl - !14 KubeAdmissionControlConfig
v1alpha1.cluster.apiServer.admissionControl.*.configuration
v1alpha1.cluster.apiServer.admissionControl.*.name
v1alpha1.cluster.apiServer.auditPolicy - !14 KubeAuditPolicyConfig
v1alpha1.cluster.apiServer.authorizationConfig 9- !14 KubeAuthorizerConfig
v1alpha1.cluster.apiServer.authorizationConfig.*.name 9-
v1alpha1.cluster.apiServer.authorizationConfig.*.type 9-
v1alpha1.cluster.apiServer.authorizationConfig.*.webhook 9-
v1alpha1.cluster.apiServer.certSANs
v1alpha1.cluster.apiServer.disablePodSecurityPolicy
v1alpha1.cluster.apiServer.env
v1alpha1.cluster.apiServer.extraArgs
v1alpha1.cluster.apiServer.extraVolumes
v1alpha1.cluster.apiServer.extraVolumes.*.hostPath
v1alpha1.cluster.apiServer.extraVolumes.*.mountPath
v1alpha1.cluster.apiServer.extraVolumes.*.readonly
v1alpha1.cluster.apiServer.image
v1alpha1.cluster.apiServer.resources 5-
v1alpha1.cluster.apiServer.resources.limits 5-
v1alpha1.cluster.apiServer.resources.requests 5-
v1alpha1.cluster.ca - !14 KubeAPIServerCAConfig
v1alpha1.cluster.ca.crt
v1alpha1.cluster.ca.key
v1alpha1.cluster.clusterName - !14 KubeClusterConfig
v1alpha1.cluster.controlPlane - !14 KubeClusterConfig
v1alpha1.cluster.controlPlane.endpoint
v1alpha1.cluster.controlPlane.localAPIServerPort - !14 KubeAPIServerConfig
v1alpha1.cluster.controllerManager - !14 KubeControllerManagerConfig
v1alpha1.cluster.controllerManager.env
v1alpha1.cluster.controllerManager.extraArgs
v1alpha1.cluster.controllerManager.extraVolumes
v1alpha1.cluster.controllerManager.extraVolumes.*.hostPath
v1alpha1.cluster.controllerManager.extraVolumes.*.mountPath
v1alpha1.cluster.controllerManager.extraVolumes.*.readonly
v1alpha1.cluster.controllerManager.image
v1alpha1.cluster.controllerManager.resources 5-
v1alpha1.cluster.controllerManager.resources.limits 5-
v1alpha1.cluster.controllerManager.resources.requests 5-
v1alpha1.cluster.coreDNS - !14 KubeCoreDNSConfig
v1alpha1.cluster.coreDNS.disabled
v1alpha1.cluster.coreDNS.image
v1alpha1.cluster.discovery - !14 DiscoveryServiceConfig
v1alpha1.cluster.discovery.enabled
v1alpha1.cluster.discovery.registries
v1alpha1.cluster.discovery.registries.kubernetes
v1alpha1.cluster.discovery.registries.kubernetes.disabled
v1alpha1.cluster.discovery.registries.service
v1alpha1.cluster.discovery.registries.service.disabled
v1alpha1.cluster.discovery.registries.service.endpoint
v1alpha1.cluster.etcd
v1alpha1.cluster.etcd.advertisedSubnets
v1alpha1.cluster.etcd.ca
v1alpha1.cluster.etcd.ca.crt
v1alpha1.cluster.etcd.ca.key
v1alpha1.cluster.etcd.extraArgs
v1alpha1.cluster.etcd.image
v1alpha1.cluster.etcd.listenSubnets
v1alpha1.cluster.etcd.subnet - !3 advertisedSubnets
v1alpha1.cluster.externalCloudProvider
v1alpha1.cluster.externalCloudProvider.enabled
v1alpha1.cluster.externalCloudProvider.manifests
v1alpha1.cluster.extraManifestHeaders - !14 KubeExternalManifestConfig
v1alpha1.cluster.extraManifests - !14 KubeExternalManifestConfig
v1alpha1.cluster.id - !14 DiscoveryIdentityConfig
v1alpha1.cluster.inlineManifests - !14 KubeInlineManifestConfig
v1alpha1.cluster.inlineManifests.*.contents
v1alpha1.cluster.inlineManifests.*.name
v1alpha1.cluster.network - !14 KubeNetworkConfig
v1alpha1.cluster.network.cni
v1alpha1.cluster.network.cni.flannel 6- !14 KubeFlannelCNIConfig
v1alpha1.cluster.network.cni.flannel.extraArgs 6-
v1alpha1.cluster.network.cni.flannel.kubeNetworkPoliciesEnabled 13-
v1alpha1.cluster.network.cni.name
v1alpha1.cluster.network.cni.urls - !14 KubeExternalManifestConfig
v1alpha1.cluster.network.dnsDomain
v1alpha1.cluster.network.podSubnets
v1alpha1.cluster.network.serviceSubnets
v1alpha1.cluster.proxy - !14 KubeProxyConfig
v1alpha1.cluster.proxy.disabled
v1alpha1.cluster.proxy.extraArgs
v1alpha1.cluster.proxy.image
v1alpha1.cluster.proxy.mode
v1alpha1.cluster.scheduler - !14 KubeSchedulerConfig
v1alpha1.cluster.scheduler.config 6-
v1alpha1.cluster.scheduler.env
v1alpha1.cluster.scheduler.extraArgs
v1alpha1.cluster.scheduler.extraVolumes
v1alpha1.cluster.scheduler.extraVolumes.*.hostPath
v1alpha1.cluster.scheduler.extraVolumes.*.mountPath
v1alpha1.cluster.scheduler.extraVolumes.*.readonly
v1alpha1.cluster.scheduler.image
v1alpha1.cluster.scheduler.resources 5-
v1alpha1.cluster.scheduler.resources.limits 5-
v1alpha1.cluster.scheduler.resources.requests 5-
v1alpha1.cluster.secret - !14 DiscoveryIdentityConfig
v1alpha1.cluster.secretboxEncryptionSecret - !14 KubeEtcdEncryptionConfig
v1alpha1.cluster.serviceAccount - !14 KubeServiceAccountConfig
v1alpha1.cluster.serviceAccount.key
v1alpha1.cluster.token
v1alpha1.debug
v1alpha1.machine
v1alpha1.machine.acceptedCAs 7-
v1alpha1.machine.acceptedCAs.*.crt 7-
v1alpha1.machine.baseRuntimeSpecOverrides 9- !14 CRIBaseRuntimeSpecConfig
v1alpha1.machine.ca
v1alpha1.machine.ca.crt
v1alpha1.machine.ca.key
v1alpha1.machine.certSANs
v1alpha1.machine.controlPlane - !14 KubeControllerManagerConfig
v1alpha1.machine.controlPlane.controllerManager
v1alpha1.machine.controlPlane.controllerManager.disabled
v1alpha1.machine.controlPlane.scheduler - !14 KubeSchedulerConfig
v1alpha1.machine.controlPlane.scheduler.disabled
v1alpha1.machine.disks - !10 UserVolumeConfig
v1alpha1.machine.disks.*.device
v1alpha1.machine.disks.*.partitions
v1alpha1.machine.disks.*.partitions.*.mountpoint
v1alpha1.machine.disks.*.partitions.*.size
v1alpha1.machine.env - !13 EnvironmentConfig
v1alpha1.machine.features
v1alpha1.machine.features.apidCheckExtKeyUsage
v1alpha1.machine.features.diskQuotaSupport 5-
v1alpha1.machine.features.hostDNS 7- !14 ResolverConfig
v1alpha1.machine.features.hostDNS.enabled 7-
v1alpha1.machine.features.hostDNS.forwardKubeDNSToHost 7-
v1alpha1.machine.features.hostDNS.resolveMemberNames 7-
v1alpha1.machine.features.imageCache 9- !14 ImageCacheConfig
v1alpha1.machine.features.imageCache.localEnabled 9-
v1alpha1.machine.features.kubePrism 5- !14 KubePrismConfig
v1alpha1.machine.features.kubePrism.enabled 5-
v1alpha1.machine.features.kubePrism.port 5-
v1alpha1.machine.features.kubernetesTalosAPIAccess - !14 KubeTalosAPIAccessConfig
v1alpha1.machine.features.kubernetesTalosAPIAccess.allowedKubernetesNamespaces
v1alpha1.machine.features.kubernetesTalosAPIAccess.allowedRoles
v1alpha1.machine.features.kubernetesTalosAPIAccess.enabled
v1alpha1.machine.features.nodeAddressSortAlgorithm 9-
v1alpha1.machine.features.rbac
v1alpha1.machine.features.stableHostname - !12 HostnameConfig
v1alpha1.machine.files - !14 EtcFileConfig
v1alpha1.machine.files.*.content
v1alpha1.machine.files.*.op
v1alpha1.machine.files.*.path
v1alpha1.machine.files.*.permissions
v1alpha1.machine.install - !14 UnattendedInstallConfig
v1alpha1.machine.install.bootloader - !6 -
v1alpha1.machine.install.disk
v1alpha1.machine.install.diskSelector
v1alpha1.machine.install.diskSelector.busPath
v1alpha1.machine.install.diskSelector.modalias
v1alpha1.machine.install.diskSelector.model
v1alpha1.machine.install.diskSelector.name
v1alpha1.machine.install.diskSelector.serial
v1alpha1.machine.install.diskSelector.size
v1alpha1.machine.install.diskSelector.type
v1alpha1.machine.install.diskSelector.uuid
v1alpha1.machine.install.diskSelector.wwid
v1alpha1.machine.install.extensions - !10 -
v1alpha1.machine.install.extensions.*.image
v1alpha1.machine.install.extraKernelArgs - !12 -
v1alpha1.machine.install.grubUseUKICmdline 12-
v1alpha1.machine.install.image
v1alpha1.machine.install.legacyBIOSSupport
v1alpha1.machine.install.wipe
v1alpha1.machine.kernel - !14 KernelModuleConfig
v1alpha1.machine.kernel.modules
v1alpha1.machine.kernel.modules.*.name
v1alpha1.machine.kernel.modules.*.parameters
v1alpha1.machine.kubelet - !14 KubeletConfig
v1alpha1.machine.kubelet.clusterDNS
v1alpha1.machine.kubelet.credentialProviderConfig 6- !14 KubeCredentialProviderConfig
v1alpha1.machine.kubelet.defaultRuntimeSeccompProfileEnabled
v1alpha1.machine.kubelet.disableManifestsDirectory - !14 -
v1alpha1.machine.kubelet.extraArgs
v1alpha1.machine.kubelet.extraConfig
v1alpha1.machine.kubelet.extraMounts - !14 -
v1alpha1.machine.kubelet.extraMounts.*.destination
v1alpha1.machine.kubelet.extraMounts.*.gidMappings
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.containerID
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.hostID
v1alpha1.machine.kubelet.extraMounts.*.gidMappings.*.size
v1alpha1.machine.kubelet.extraMounts.*.options
v1alpha1.machine.kubelet.extraMounts.*.source
v1alpha1.machine.kubelet.extraMounts.*.type
v1alpha1.machine.kubelet.extraMounts.*.uidMappings
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.containerID
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.hostID
v1alpha1.machine.kubelet.extraMounts.*.uidMappings.*.size
v1alpha1.machine.kubelet.image
v1alpha1.machine.kubelet.nodeIP - !14 KubeNodeConfig
v1alpha1.machine.kubelet.nodeIP.validSubnets
v1alpha1.machine.kubelet.registerWithFQDN - !14 KubeNodeConfig
v1alpha1.machine.kubelet.skipNodeRegistration - !14 KubeNodeConfig
v1alpha1.machine.logging
v1alpha1.machine.logging.destinations
v1alpha1.machine.logging.destinations.*.endpoint
v1alpha1.machine.logging.destinations.*.extraTags 7-
v1alpha1.machine.logging.destinations.*.format
v1alpha1.machine.network - !13
v1alpha1.machine.network.disableSearchDomain - !12 ResolverConfig
v1alpha1.machine.network.extraHostEntries - !12 StaticHostConfig
v1alpha1.machine.network.extraHostEntries.*.aliases
v1alpha1.machine.network.extraHostEntries.*.ip
v1alpha1.machine.network.hostname - !12 HostnameConfig
v1alpha1.machine.network.interfaces - !12 LinkConfig
v1alpha1.machine.network.interfaces.*.addresses
v1alpha1.machine.network.interfaces.*.bond
v1alpha1.machine.network.interfaces.*.bond.adActorSysPrio
v1alpha1.machine.network.interfaces.*.bond.adActorSystem
v1alpha1.machine.network.interfaces.*.bond.adSelect
v1alpha1.machine.network.interfaces.*.bond.adUserPortKey
v1alpha1.machine.network.interfaces.*.bond.allSlavesActive
v1alpha1.machine.network.interfaces.*.bond.arpAllTargets
v1alpha1.machine.network.interfaces.*.bond.arpIPTarget
v1alpha1.machine.network.interfaces.*.bond.arpInterval
v1alpha1.machine.network.interfaces.*.bond.arpValidate
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors 4-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.busPath 4-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.driver 4-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.hardwareAddr 4-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.pciID 4-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.permanentAddr 9-
v1alpha1.machine.network.interfaces.*.bond.deviceSelectors.*.physical 7-
v1alpha1.machine.network.interfaces.*.bond.downdelay
v1alpha1.machine.network.interfaces.*.bond.failOverMac
v1alpha1.machine.network.interfaces.*.bond.interfaces
v1alpha1.machine.network.interfaces.*.bond.lacpRate
v1alpha1.machine.network.interfaces.*.bond.lpInterval
v1alpha1.machine.network.interfaces.*.bond.miimon
v1alpha1.machine.network.interfaces.*.bond.minLinks
v1alpha1.machine.network.interfaces.*.bond.mode
v1alpha1.machine.network.interfaces.*.bond.numPeerNotif
v1alpha1.machine.network.interfaces.*.bond.packetsPerSlave
v1alpha1.machine.network.interfaces.*.bond.peerNotifyDelay
v1alpha1.machine.network.interfaces.*.bond.primary
v1alpha1.machine.network.interfaces.*.bond.primaryReselect
v1alpha1.machine.network.interfaces.*.bond.resendIgmp
v1alpha1.machine.network.interfaces.*.bond.tlbDynamicLb
v1alpha1.machine.network.interfaces.*.bond.updelay
v1alpha1.machine.network.interfaces.*.bond.useCarrier
v1alpha1.machine.network.interfaces.*.bond.xmitHashPolicy
v1alpha1.machine.network.interfaces.*.bridge
v1alpha1.machine.network.interfaces.*.bridge.interfaces
v1alpha1.machine.network.interfaces.*.bridge.stp
v1alpha1.machine.network.interfaces.*.bridge.stp.enabled
v1alpha1.machine.network.interfaces.*.bridge.vlan 8-
v1alpha1.machine.network.interfaces.*.bridge.vlan.vlanFiltering 8-
v1alpha1.machine.network.interfaces.*.bridgePort 9-
v1alpha1.machine.network.interfaces.*.bridgePort.master 9-
v1alpha1.machine.network.interfaces.*.cidr
v1alpha1.machine.network.interfaces.*.deviceSelector
v1alpha1.machine.network.interfaces.*.deviceSelector.busPath
v1alpha1.machine.network.interfaces.*.deviceSelector.driver
v1alpha1.machine.network.interfaces.*.deviceSelector.hardwareAddr
v1alpha1.machine.network.interfaces.*.deviceSelector.pciID
v1alpha1.machine.network.interfaces.*.deviceSelector.permanentAddr 9-
v1alpha1.machine.network.interfaces.*.deviceSelector.physical 7-
v1alpha1.machine.network.interfaces.*.dhcp
v1alpha1.machine.network.interfaces.*.dhcpOptions
v1alpha1.machine.network.interfaces.*.dhcpOptions.duidv6
v1alpha1.machine.network.interfaces.*.dhcpOptions.ipv4
v1alpha1.machine.network.interfaces.*.dhcpOptions.ipv6
v1alpha1.machine.network.interfaces.*.dhcpOptions.routeMetric
v1alpha1.machine.network.interfaces.*.dummy
v1alpha1.machine.network.interfaces.*.ignore
v1alpha1.machine.network.interfaces.*.interface
v1alpha1.machine.network.interfaces.*.mtu
v1alpha1.machine.network.interfaces.*.routes
v1alpha1.machine.network.interfaces.*.routes.*.gateway
v1alpha1.machine.network.interfaces.*.routes.*.metric
v1alpha1.machine.network.interfaces.*.routes.*.mtu
v1alpha1.machine.network.interfaces.*.routes.*.network
v1alpha1.machine.network.interfaces.*.routes.*.source
v1alpha1.machine.network.interfaces.*.vip
v1alpha1.machine.network.interfaces.*.vip.equinixMetal
v1alpha1.machine.network.interfaces.*.vip.equinixMetal.apiToken
v1alpha1.machine.network.interfaces.*.vip.hcloud
v1alpha1.machine.network.interfaces.*.vip.hcloud.apiToken
v1alpha1.machine.network.interfaces.*.vip.ip
v1alpha1.machine.network.interfaces.*.vlans
v1alpha1.machine.network.interfaces.*.vlans.*.addresses
v1alpha1.machine.network.interfaces.*.vlans.*.cidr
v1alpha1.machine.network.interfaces.*.vlans.*.dhcp
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.duidv6
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.ipv4
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.ipv6
v1alpha1.machine.network.interfaces.*.vlans.*.dhcpOptions.routeMetric
v1alpha1.machine.network.interfaces.*.vlans.*.mtu
v1alpha1.machine.network.interfaces.*.vlans.*.routes
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.gateway
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.metric
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.mtu
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.network
v1alpha1.machine.network.interfaces.*.vlans.*.routes.*.source
v1alpha1.machine.network.interfaces.*.vlans.*.vip
v1alpha1.machine.network.interfaces.*.vlans.*.vip.equinixMetal
v1alpha1.machine.network.interfaces.*.vlans.*.vip.equinixMetal.apiToken
v1alpha1.machine.network.interfaces.*.vlans.*.vip.hcloud
v1alpha1.machine.network.interfaces.*.vlans.*.vip.hcloud.apiToken
v1alpha1.machine.network.interfaces.*.vlans.*.vip.ip
v1alpha1.machine.network.interfaces.*.vlans.*.vlanId
v1alpha1.machine.network.interfaces.*.wireguard
v1alpha1.machine.network.interfaces.*.wireguard.firewallMark
v1alpha1.machine.network.interfaces.*.wireguard.listenPort
v1alpha1.machine.network.interfaces.*.wireguard.peers
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.allowedIPs
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.endpoint
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.persistentKeepaliveInterval
v1alpha1.machine.network.interfaces.*.wireguard.peers.*.publicKey
v1alpha1.machine.network.interfaces.*.wireguard.privateKey
v1alpha1.machine.network.kubespan - !13 KubeSpanConfig
v1alpha1.machine.network.kubespan.advertiseKubernetesNetworks
v1alpha1.machine.network.kubespan.allowDownPeerBypass
v1alpha1.machine.network.kubespan.enabled
v1alpha1.machine.network.kubespan.filters
v1alpha1.machine.network.kubespan.filters.endpoints
v1alpha1.machine.network.kubespan.filters.excludeAdvertisedNetworks 12-
v1alpha1.machine.network.kubespan.harvestExtraEndpoints 6-
v1alpha1.machine.network.kubespan.mtu
v1alpha1.machine.network.nameservers - !12 ResolverConfig
v1alpha1.machine.network.searchDomains 9- !12 ResolverConfig
v1alpha1.machine.nodeAnnotations 8- !14 KubeNodeConfig
v1alpha1.machine.nodeLabels - !14 KubeNodeConfig
v1alpha1.machine.nodeTaints 6- !14 KubeNodeConfig
v1alpha1.machine.pods - !14 KubeStaticPodConfig
v1alpha1.machine.registries - !12 RegistryMirrorConfig
v1alpha1.machine.registries.config
v1alpha1.machine.registries.config.*.auth - !12 RegistryAuthConfig
v1alpha1.machine.registries.config.*.auth.auth
v1alpha1.machine.registries.config.*.auth.identityToken
v1alpha1.machine.registries.config.*.auth.password
v1alpha1.machine.registries.config.*.auth.username
v1alpha1.machine.registries.config.*.tls - !12 RegistryTLSConfig
v1alpha1.machine.registries.config.*.tls.ca
v1alpha1.machine.registries.config.*.tls.clientIdentity
v1alpha1.machine.registries.config.*.tls.clientIdentity.crt
v1alpha1.machine.registries.config.*.tls.clientIdentity.key
v1alpha1.machine.registries.config.*.tls.insecureSkipVerify
v1alpha1.machine.registries.mirrors
v1alpha1.machine.registries.mirrors.*.endpoints
v1alpha1.machine.registries.mirrors.*.overridePath
v1alpha1.machine.registries.mirrors.*.skipFallback 9-
v1alpha1.machine.seccompProfiles
v1alpha1.machine.seccompProfiles.*.name
v1alpha1.machine.seccompProfiles.*.value
v1alpha1.machine.sysctls - !14 SysctlConfig
v1alpha1.machine.sysfs - !14 SysfsConfig
v1alpha1.machine.systemDiskEncryption - !11 VolumeConfig
v1alpha1.machine.systemDiskEncryption.ephemeral
v1alpha1.machine.systemDiskEncryption.ephemeral.blockSize
v1alpha1.machine.systemDiskEncryption.ephemeral.cipher
v1alpha1.machine.systemDiskEncryption.ephemeral.keySize
v1alpha1.machine.systemDiskEncryption.ephemeral.keys
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.kms 5-
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.kms.endpoint 5-
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.nodeID
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.slot
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.static
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.static.passphrase
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.tpm 5-
v1alpha1.machine.systemDiskEncryption.ephemeral.keys.*.tpm.checkSecurebootStatusOnEnroll 5-
v1alpha1.machine.systemDiskEncryption.ephemeral.options
v1alpha1.machine.systemDiskEncryption.ephemeral.provider
v1alpha1.machine.systemDiskEncryption.state
v1alpha1.machine.systemDiskEncryption.state.blockSize
v1alpha1.machine.systemDiskEncryption.state.cipher
v1alpha1.machine.systemDiskEncryption.state.keySize
v1alpha1.machine.systemDiskEncryption.state.keys
v1alpha1.machine.systemDiskEncryption.state.keys.*.kms 5-
v1alpha1.machine.systemDiskEncryption.state.keys.*.kms.endpoint 5-
v1alpha1.machine.systemDiskEncryption.state.keys.*.nodeID
v1alpha1.machine.systemDiskEncryption.state.keys.*.slot
v1alpha1.machine.systemDiskEncryption.state.keys.*.static
v1alpha1.machine.systemDiskEncryption.state.keys.*.static.passphrase
v1alpha1.machine.systemDiskEncryption.state.keys.*.tpm 5-
v1alpha1.machine.systemDiskEncryption.state.keys.*.tpm.checkSecurebootStatusOnEnroll 5-
v1alpha1.machine.systemDiskEncryption.state.options
v1alpha1.machine.systemDiskEncryption.state.provider
v1alpha1.machine.time - !12 TimeSyncConfig
v1alpha1.machine.time.bootTimeout
v1alpha1.machine.time.disabled
v1alpha1.machine.time.servers
v1alpha1.machine.token
v1alpha1.machine.type
v1alpha1.machine.udev - !14 UdevRulesConfig
v1alpha1.machine.udev.rules
v1alpha1.persist - !6 -
v1alpha1.version
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
